package main

import (
	"fmt"
	"testing"

	"svc/bench/harness"
)

// TestChangesAreMeasuredOnNodesThatHear records changes, faults and evaluations in sequence. Each node that receives
// changes counts a change once, when it shows it or a later one, for the fault in progress at the answer.
func TestChangesAreMeasuredOnNodesThatHear(t *testing.T) {
	a, b, c := &node{name: "a"}, &node{name: "b"}, &node{name: "c"}
	all, f := []*node{a, b, c}, newInForce()
	f.answered(1, all)
	f.answered(2, all)
	f.shows("a", 2)
	f.shows("b", 1)
	f.begin("kill", []*node{c}, nil) // c had shown nothing, so it is no longer queried
	f.answered(3, all)
	f.shows("b", 3)
	f.shows("c", 9)
	f.end()
	f.shows("a", 3)
	f.begin("cut", nil, []*node{a})
	f.answered(4, all)
	for _, n := range all {
		f.shows(n.name, 4)
	}
	got := map[string]uint64{}
	for fault, latency := range f.took {
		got[fault] = latency.Count()
	}
	if want := (map[string]uint64{"": 4, "kill": 2, "cut": 2}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("changes were counted %v times, want %v", got, want)
	}
}

// TestOnlyNodesThatServeOweAnswers counts unanswered evaluations. The evaluations of a gone node do not count, but the
// evaluations of a node that receives no changes do.
func TestOnlyNodesThatServeOweAnswers(t *testing.T) {
	f := newInForce()
	f.begin("broker", []*node{{name: "a"}}, []*node{{name: "b"}})
	got := fmt.Sprint(f.serves("a"), f.serves("b"), f.evaluated("a", false), f.evaluated("b", true), f.evaluated("b", false))
	if want := fmt.Sprint(false, true, false, false, true); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	result := &harness.Result{}
	f.report(result)
	if row := result.Rows[0]; len(result.Rows) != 1 || row.Extra["evaluations"] != 2 || row.Extra["withoutAnswer"] != 1 {
		t.Errorf("reported are %+v", result.Rows)
	}
}
