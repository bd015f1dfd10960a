package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"svc/bench/harness"
)

// The client of this file changes a goal, a rule and a flag of one application while the store is unavailable. Their
// actors are in memory, and they save to the log, so every change is answered.

// outage holds the objects that are changed while the store is unavailable, and the time of the changes.
type outage struct {
	rule string // its id
	goal string // the id of the present goal, or empty
	// The registers have the numbers of the changes.
	ruled, flipped, goals register
	latency               harness.Latency
	refused               int
}

const outagePath = "/apps/acme/outage"

// outagePause is the time between two changes.
const outagePause = 20 * time.Millisecond

// startOutage creates the objects that are changed.
func (l *load) startOutage(ctx context.Context) error {
	first := l.nodes.all[0]
	l.outage = &outage{}
	if status, answer := l.call(ctx, first, http.MethodPost, "/orgs/acme/apps", first.Token, []byte(`{"name":"Outage","slug":"outage","platform":"web"}`)); status/100 != 2 {
		return fmt.Errorf("making an application: %d %s", status, answer)
	}
	for number, kind := range []func(context.Context, *node, int) int{l.changeRule, l.changeFlag, l.changeGoal} {
		if status := kind(ctx, first, number+1); status/100 != 2 {
			return fmt.Errorf("making what is changed while the store is away: %d", status)
		}
	}
	return nil
}

// changeAway changes goal, rule and flag through any node until an instant. When it is called, all actors are in memory
// again after earlier faults.
func (l *load) changeAway(ctx context.Context, until time.Time, random *rand.Rand) {
	o := l.outage
	kinds := []struct {
		name   string
		change func(context.Context, *node, int) int
		number *register
	}{{"rule", l.changeRule, &o.ruled}, {"flag", l.changeFlag, &o.flipped}, {"goal", l.changeGoal, &o.goals}}
	for n := 0; time.Now().Before(until) && ctx.Err() == nil; n++ {
		one, at := kinds[n%len(kinds)], l.any(random)
		began := time.Now()
		status := one.change(ctx, at, one.number.sent+1)
		o.latency.Record(time.Since(began))
		if status/100 == 2 {
			l.changes.Add(1)
		} else if ctx.Err() == nil {
			o.refused++
			l.problem("a change of the %s through %s while the store is away is answered %d", one.name, at.name, status)
		}
		time.Sleep(outagePause)
	}
}

// warm makes the nodes load the objects that are changed.
func (l *load) warm(ctx context.Context) error {
	o := l.outage
	return harness.Poll(ctx, "changes before the store is taken away", harness.StoreReadyTime, outagePause, func(ctx context.Context) (bool, string) {
		for _, n := range l.nodes.all {
			for kind, status := range map[string]int{"rule": l.changeRule(ctx, n, o.ruled.sent+1), "flag": l.changeFlag(ctx, n, o.flipped.sent+1), "goal": l.changeGoal(ctx, n, o.goals.sent+1)} {
				if status/100 != 2 {
					return false, fmt.Sprintf("%s: the %s is answered %d", n.name, kind, status)
				}
			}
		}
		return true, ""
	})
}

// changeRule sets the number as the rule's threshold.
func (l *load) changeRule(ctx context.Context, at *node, number int) int {
	o := l.outage
	o.ruled.send(number)
	id := ""
	if o.rule != "" {
		id = fmt.Sprintf(`"id":%q,`, o.rule)
	}
	status, answer := l.call(ctx, at, http.MethodPost, outagePath+"/alerts", at.Token, fmt.Appendf(nil,
		`{%s"name":"Rule","kind":"event_volume","threshold":%d,"comparator":"gte","condition":{"name":"e"},"channelIds":[]}`, id, number))
	var made row
	if status/100 == 2 && json.Unmarshal(answer, &made) == nil {
		o.rule = made.ID
		o.ruled.acknowledge(number)
	}
	return status
}

// changeFlag sets the number as the flag's name.
func (l *load) changeFlag(ctx context.Context, at *node, number int) int {
	l.outage.flipped.send(number)
	status, _ := l.call(ctx, at, http.MethodPut, outagePath+"/flags/away", at.Token,
		fmt.Appendf(nil, `{"name":"%d","kind":"boolean","environments":{"production":{"enabled":true,"rolloutPercent":100}}}`, number))
	if status/100 == 2 {
		l.outage.flipped.acknowledge(number)
	}
	return status
}

// changeGoal removes the goal, or creates one with the number if there is no goal.
func (l *load) changeGoal(ctx context.Context, at *node, number int) int {
	o := l.outage
	o.goals.send(number)
	if o.goal != "" {
		status, _ := l.call(ctx, at, http.MethodDelete, outagePath+"/goals/"+o.goal, at.Token, nil, http.StatusNotFound)
		if status/100 == 2 || status == http.StatusNotFound { // a request without an answer has removed it
			o.goal = ""
			o.goals.acknowledge(number)
			return http.StatusNoContent
		}
		return status
	}
	status, answer := l.call(ctx, at, http.MethodPost, outagePath+"/goals", at.Token, fmt.Appendf(nil, `{"name":"Goal","kind":"event","match":"away%d"}`, number))
	var made row
	if status/100 == 2 && json.Unmarshal(answer, &made) == nil {
		o.goal = made.ID
		o.goals.acknowledge(number)
	}
	return status
}

// checkOutage reads through every node the objects that were changed during the outage.
func (l *load) checkOutage(ctx context.Context) {
	o := l.outage
	for _, n := range l.nodes.all {
		rules, _ := l.list(ctx, n, outagePath+"/alerts")
		if len(rules) != 1 || rules[0].ID != o.rule || !o.ruled.allows(int(rules[0].Threshold)) {
			l.problem("the rules are %+v through %s; change %d was acknowledged", rules, n.name, o.ruled.acked)
		}
		status, answer := l.call(ctx, n, http.MethodGet, outagePath+"/flags/away", n.Token, nil)
		var flag struct{ Name string }
		var number int
		if err := json.Unmarshal(answer, &flag); err != nil || status != http.StatusOK {
			l.problem("reading the flag through %s: %d %.200s", n.name, status, answer)
		} else if _, err := fmt.Sscan(flag.Name, &number); err != nil || !o.flipped.allows(number) {
			l.problem("the flag has change %q through %s; change %d was acknowledged", flag.Name, n.name, o.flipped.acked)
		}
		goals, _ := l.list(ctx, n, outagePath+"/goals")
		if len(o.goals.open) == 0 && (o.goal == "") != (len(goals) == 0) || len(goals) > 0 && o.goal != "" && !slices.ContainsFunc(goals, func(g row) bool { return g.ID == o.goal }) {
			l.problem("the goals are %+v through %s, want %q", goals, n.name, o.goal)
		}
	}
}
