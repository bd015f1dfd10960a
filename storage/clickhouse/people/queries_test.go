package people

import (
	"maps"
	"strings"
	"testing"
	"time"

	"svc/domain/person"
	"svc/domain/segment"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/state"
)

// TestQueriesExplain checks that the engine can plan every query.
func TestQueriesExplain(t *testing.T) {
	conn := clickhousetest.Open(t)
	states, err := state.Open(clickhousetest.Deadline(t), conn, state.Config{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := New(states.Conn())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s := segment.Segment{Kind: segment.Dynamic, Definition: everyCondition(t)}
	rank := newRank(person.Query{Search: "ada", SearchMasked: true, Stage: segment.StageLead, Tags: []string{"vip", "new"}, Segment: &s, Now: now})
	static := rank.inSegment(&segment.Segment{Kind: segment.Static, Members: []uint64{1, 2}}, now)
	visitors := rank.fold(visitorsAlone)
	rank.text("", db.queries, true) // adds the facts to the query
	args := rank.values(7).With(members{1: {{0, 2}, {5, 1}}}.args()).With(clickhouse.Args{"owners": []string{"x"}}).With(clickhouse.Args{
		"nodes": []uint64{1}, "devices": true, "late": uint64(1), "since": int64(1), "limit": 1, "segment_visitors": []uint64{1}, "segment_shared": []uint64{1}, "segment_since": [][]int64{{0}}, "segment_meets": [][]bool{{true}}, "first_page": true, "after_began": int64(0), "after_person": uint64(0), "persons": []uint64{1}, "visitor": uint64(1), "visitors": []uint64{1},
		"owner": "x", "ids": []uint64{1}, "life": uint64(1), "at": now, "low": uint64(1), "high": uint64(2), "now": now, "person": uint64(1),
		"from": []int64{0}, "until": []int64{1}, "before_ms": int64(1), "before_id": "", "scanned": uint32(1), "words": []string{"x"}, "conversations": "c", "inboxes": "d",
		"floor": int64(0), "search": "ada", "masked": true, "stage": "lead", "tag": "vip", "customer": "x", "phones": []string{"phone"}, "never": int64(1),
		"number": uint64(1), "kept": uint64(1), "changed": []uint64{1}, "profiles": int64(1), "arrivals": int64(1), "entries": int64(1), "traits": int64(1), "links": int64(1), "roots": int64(1), "activations": int64(1),
	})
	clickhousetest.Explain(t, conn, db.queries, map[string]clickhouse.Args{"": args}, func(name, text string) string {
		if rank.of = nil; name == "persons.Meets" {
			rank.of = members{1: {{0, 2}, {5, 1}}}
		}
		switch {
		case name == "companies.List":
			companies := newConditions("")
			query := companiesQuery(db.queries, companies, true, true)
			maps.Copy(args, companies.values(7).With(clickhouse.Args{"search": "", "after": ""}))
			return query
		case strings.Contains(text, "$(folded)"), name == "persons.Folded":
			return rank.text(strings.NewReplacer("$(tallies)", "countIf("+static+")", "$(meets)", "toUInt8("+allOf(rank.having)+")", "$(visitors)", visitors).Replace(text), db.queries, true)
		case name == "persons.KeptWith":
			with := newConditions("with_")
			with.whole, with.kept = true, &keptFolds{kept: &kept{number: 1}, changed: []uint64{1}}
			with.ask(person.Query{Segment: &s, Now: now})
			query := with.text("$(folded)", db.queries, true)
			maps.Copy(args, with.values(7))
			return query
		case strings.HasPrefix(text, "SELECT"):
			return strings.NewReplacer("$(split)", "true", "$(columns)", "1", "$(source)", "profiles", "$(only)", "true", "$(owned)", "owner = 'x'", "$(links)", rank.links(db.queries), "$(devices)", "(7)", "$(candidates)", "SELECT toUInt64(7) AS visitor", "$(shared)", rank.shared(db.queries), "$(visitor)", "visitor", "$(finds)", "", "$(id)", "id", "$(company)", "company", "$(meets)", "true", "$(name)", "'order'", "$(since)", "0").Replace(text)
		}
		return ""
	})
}

// everyCondition returns a definition with every field and every operator that it supports.
func everyCondition(t *testing.T) *segment.Group {
	t.Helper()
	group := &segment.Group{}
	for _, field := range segment.Fields() {
		field = strings.Replace(field, "<k>", "plan", 1)
		for _, op := range segment.FieldOps(field) {
			value := map[segment.Op]any{segment.Contains: "a", segment.In: []any{"a", 1.0}, segment.Exists: false, segment.Eq: "none", segment.Neq: "none"}[op]
			if value == nil || field == segment.Sessions || field == segment.Events || strings.HasSuffix(field, "_event") {
				value = any(3.0)
			}
			if (field == segment.LastSeen || field == segment.FirstSeen) && op != segment.WithinDays && op != segment.NotWithinDays {
				value = "2026-11-22"
			}
			if strings.HasPrefix(string(op), "semver_") {
				value = "2.0.0-beta.1"
			}
			one := &segment.Condition{Field: field, Op: op, Value: value}
			if strings.HasSuffix(field, "_event") {
				one.Event = &segment.Event{Name: "order", Count: 2}
			}
			group.Any = append(group.Any, segment.Node{Condition: one})
		}
	}
	return group
}
