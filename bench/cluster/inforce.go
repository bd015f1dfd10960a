package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"svc/bench/harness"
)

// inForce measures the time from the answer of a flag's change until each node evaluates by it, for all nodes that can
// receive it. It groups the times by the fault in progress at the answer. It also counts the evaluations by serving
// nodes.
type inForce struct {
	mu sync.Mutex
	// fault is the fault in progress, or empty.
	fault string
	// gone are the nodes that give no answers now, deaf the nodes that cannot receive changes.
	gone, deaf map[string]bool
	// open are the changes that a node has not shown yet.
	open map[string][]answeredChange
	took map[string]*harness.Latency
	// evaluations counts the answers of serving nodes, failed the missing ones.
	evaluations, failed map[string]int
}

// answeredChange is a change of the flag that was answered.
type answeredChange struct {
	version uint64
	at      time.Time
	fault   string
}

func newInForce() *inForce {
	return &inForce{
		gone: map[string]bool{}, deaf: map[string]bool{}, open: map[string][]answeredChange{}, took: map[string]*harness.Latency{},
		evaluations: map[string]int{}, failed: map[string]int{},
	}
}

// begin records a fault that is about to be injected: nodes that are gone are deaf as well.
func (f *inForce) begin(fault string, gone, deaf []*node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
	for _, n := range gone {
		f.gone[n.name], f.deaf[n.name] = true, true
	}
	for _, n := range deaf {
		f.deaf[n.name] = true
	}
	for name := range f.deaf {
		delete(f.open, name)
	}
}

// end records that all nodes are ready again.
func (f *inForce) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = ""
	clear(f.gone)
	clear(f.deaf)
}

// answered records a change that was answered.
func (f *inForce) answered(version uint64, nodes []*node) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nodes {
		if !f.deaf[n.name] {
			f.open[n.name] = append(f.open[n.name], answeredChange{version, time.Now(), f.fault})
		}
	}
}

// shows records that a node evaluates by a revision.
func (f *inForce) shows(name string, revision uint64) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	open, now := f.open[name], time.Now()
	for len(open) > 0 && open[0].version <= revision {
		latency := f.took[open[0].fault]
		if latency == nil {
			latency = &harness.Latency{}
			f.took[open[0].fault] = latency
		}
		latency.Record(now.Sub(open[0].at))
		open = open[1:]
	}
	f.open[name] = open
}

// serves reports whether a node gives answers.
func (f *inForce) serves(name string) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.gone[name]
}

// evaluated counts an evaluation of a node that served when it was queried; a node that is gone meanwhile need not
// answer.
func (f *inForce) evaluated(name string, answered bool) (broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone[name] {
		return false
	}
	f.evaluations[f.fault]++
	if !answered {
		f.failed[f.fault]++
	}
	return !answered
}

// report adds the measurements to a result.
func (f *inForce) report(result *harness.Result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range slices.Sorted(maps.Keys(f.evaluations)) {
		while := "without a fault"
		if fault != "" {
			while = "during " + fault
		}
		row := harness.Measurement{Name: "a changed flag on each node that hears, " + while, Kind: harness.KindService, Extra: map[string]float64{
			"evaluations": float64(f.evaluations[fault]), "withoutAnswer": float64(f.failed[fault]),
		}}
		if latency := f.took[fault]; latency != nil {
			spread := latency.Spread()
			row.Latency, row.Events = &spread, latency.Count()
			result.Ratios = append(result.Ratios,
				harness.AtMost("G13", while+": p50 in ms", spread.P50, 100), harness.AtMost("G13", while+": p99 in ms", spread.P99, 1000))
		}
		result.Rows = append(result.Rows, row)
		fmt.Print(harness.Line(&row))
	}
}
