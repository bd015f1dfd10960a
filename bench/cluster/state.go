package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// The clients of this file look for two owners of one resource. The clients of a round compete through randomly chosen
// nodes. The resource is unique, so two acknowledgements mean two owners, or a lost write.

// contest is an application in which several clients want the same resource at the same time: a goal on an event that
// no goal has yet.
type contest struct {
	app string
	// won has the goals that were acknowledged and not deleted, by event.
	won map[string]string
	// wins counts the rounds with a winner, losses the refusals.
	wins, losses int
	// full is true once no further goal is allowed: goals whose clients got no answer may exist and fill the rest.
	full bool
}

// contestants is the number of clients that want the same resource; roundsKept is the number of goals that remain
// before the oldest are deleted.
const (
	contestants = 3
	roundsKept  = 150
)

// compete runs rounds until ctx ends.
func (l *load) compete(ctx context.Context, c *contest, random *rand.Rand) {
	var kept []row
	for round := 0; ctx.Err() == nil; round++ {
		time.Sleep(time.Duration(20+random.IntN(60)) * time.Millisecond)
		event := fmt.Sprintf("event%d", round)
		if id := l.race(ctx, c, event, random); id != "" {
			c.won[event] = id
			c.wins++
			l.changes.Add(1)
			kept = append(kept, row{ID: id, Match: event})
		}
		if c.full {
			l.tidy(ctx, c, l.any(random), kept)
		}
		if len(kept) > roundsKept {
			// Its existence is unknown until the deletion is acknowledged.
			delete(c.won, kept[0].Match)
			at := l.any(random)
			status, _ := l.call(ctx, at, http.MethodDelete, "/apps/acme/"+c.app+"/goals/"+kept[0].ID, at.Token, nil, http.StatusNotFound)
			if status/100 == 2 || status == http.StatusNotFound {
				kept = kept[1:]
			}
		}
	}
}

// tidy deletes the goals that no client knows about.
func (l *load) tidy(ctx context.Context, c *contest, at *node, kept []row) {
	status, answer := l.call(ctx, at, http.MethodGet, "/apps/acme/"+c.app+"/goals?limit=200", at.Token, nil)
	var page struct {
		Data []row `json:"data"`
	}
	if status != http.StatusOK || json.Unmarshal(answer, &page) != nil {
		return
	}
	c.full = false
	for _, goal := range page.Data {
		if !slices.ContainsFunc(kept, func(k row) bool { return k.ID == goal.ID }) {
			l.call(ctx, at, http.MethodDelete, "/apps/acme/"+c.app+"/goals/"+goal.ID, at.Token, nil, http.StatusNotFound)
		}
	}
}

// race lets all contestants request a goal, and returns the acknowledged one.
func (l *load) race(ctx context.Context, c *contest, event string, random *rand.Rand) (id string) {
	var mu sync.Mutex
	var won []string
	var racing sync.WaitGroup
	body := fmt.Appendf(nil, `{"name":%q,"kind":"event","match":%q}`, event, event)
	for range contestants {
		at := l.any(random)
		racing.Go(func() {
			status, answer := l.call(ctx, at, http.MethodPost, "/apps/acme/"+c.app+"/goals", at.Token, body, http.StatusBadRequest, http.StatusConflict)
			var goal struct {
				ID string `json:"id"`
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case status == http.StatusBadRequest:
				// The goal already exists.
				c.losses++
			case status == http.StatusConflict:
				c.full = true
			case status/100 == 2 && json.Unmarshal(answer, &goal) == nil:
				won = append(won, goal.ID)
			}
		})
	}
	racing.Wait()
	if len(won) > 1 {
		l.problem("%d clients were told that they made the goal on %s of %s: %v", len(won), event, c.app, won)
	}
	if len(won) == 0 {
		return ""
	}
	return won[0]
}

// checkContest reads the goals through every node: each event has at most one, and an acknowledged goal exists under
// the id in the answer.
func (l *load) checkContest(ctx context.Context, c *contest) {
	if c.wins == 0 || c.losses == 0 {
		l.problem("nobody competed: %d rounds were won, %d wishes refused", c.wins, c.losses)
	}
	for _, n := range l.nodes.all {
		found := map[string]string{}
		rows, ok := l.list(ctx, n, "/apps/acme/"+c.app+"/goals")
		if !ok {
			continue
		}
		for _, row := range rows {
			if found[row.Match] != "" {
				l.problem("%s has two goals on %s through %s", c.app, row.Match, n.name)
			}
			found[row.Match] = row.ID
		}
		for event, id := range c.won {
			if found[event] != id {
				l.problem("the goal on %s is %q through %s, %q was acknowledged", event, found[event], n.name, id)
			}
		}
	}
}

// issueWriter changes the status of one issue, one change after the other. Each change resolves the issue, or ignores
// it until an instant unique to the change, which identifies the change in a read.
type issueWriter struct {
	id     string
	change register
}

// ignoredUntil is the instant that belongs to the change with a number.
func ignoredUntil(number int) time.Time {
	return time.Date(2100, 1, 1, 0, 0, number, 0, time.UTC)
}

// decide changes an issue until ctx ends, and reads it, through any node.
func (l *load) decide(ctx context.Context, w *issueWriter, random *rand.Rand) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(20+random.IntN(60)) * time.Millisecond)
		if random.IntN(3) == 0 {
			l.lookAtIssue(ctx, w, l.any(random))
			continue
		}
		at := l.any(random)
		number := w.change.sent + 1
		w.change.send(number)
		status, _ := l.call(ctx, at, http.MethodPatch, "/apps/acme/web/errors/"+w.id, at.Token,
			fmt.Appendf(nil, `{"status":"ignored","ignoreUntil":%q}`, ignoredUntil(number).Format(time.RFC3339)))
		if status/100 == 2 {
			w.change.acknowledge(number)
			l.changes.Add(1)
		}
	}
}

// lookAtIssue reads an issue: the end of its ignored time identifies the change.
func (l *load) lookAtIssue(ctx context.Context, w *issueWriter, at *node) {
	status, answer := l.call(ctx, at, http.MethodGet, "/apps/acme/web/errors/"+w.id, at.Token, nil)
	if status != http.StatusOK {
		return
	}
	var issue struct {
		Status      string     `json:"status"`
		IgnoreUntil *time.Time `json:"ignoreUntil"`
	}
	if err := json.Unmarshal(answer, &issue); err != nil {
		l.problem("reading issue %s: %v", w.id, err)
		return
	}
	seen := 0
	if issue.IgnoreUntil != nil {
		seen = int(issue.IgnoreUntil.Sub(ignoredUntil(0)) / time.Second)
	}
	if !w.change.allows(seen) {
		l.problem("issue %s is %q by change %d through %s; %d was acknowledged, %d was sent last", w.id, issue.Status, seen, at.name, w.change.acked, w.change.sent)
	}
}

// watchedIssues is the number of issues that are changed.
const watchedIssues = 3

// makeIssues sends an error of each issue and waits until they are listed.
func (l *load) makeIssues(ctx context.Context) error {
	first := l.nodes.all[0]
	for n := range watchedIssues {
		body := fmt.Appendf(nil, `{"items":[{"type":"error","id":"%serror-%d","name":"Fault%c","message":"it broke"}]}`, l.prefix, n, 'A'+n)
		if status, answer := l.call(ctx, first, http.MethodPost, "/batch", first.Keys["production"].Secret, body); status != http.StatusAccepted {
			return fmt.Errorf("sending an error: %d %s", status, answer)
		}
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		rows, ok := l.list(ctx, first, "/apps/acme/web/errors")
		if ok && len(rows) >= watchedIssues {
			for _, row := range rows[:watchedIssues] {
				l.issues = append(l.issues, &issueWriter{id: row.ID})
			}
			return nil
		}
	}
	return fmt.Errorf("the errors that were sent are not listed after 30 s")
}

// row holds members of goals, issues and rules.
type row struct {
	ID        string  `json:"id"`
	Match     string  `json:"match"`
	Threshold float64 `json:"threshold"`
}

// list reads a list of up to 200 rows.
func (l *load) list(ctx context.Context, at *node, path string) ([]row, bool) {
	status, answer := l.call(ctx, at, http.MethodGet, path+"?limit=200", at.Token, nil)
	var page struct {
		Data []row `json:"data"`
	}
	if err := json.Unmarshal(answer, &page); status != http.StatusOK || err != nil {
		l.problem("reading %s through %s: %d %.300s", path, at.name, status, answer)
		return nil, false
	}
	return page.Data, true
}

// startState starts the clients of this file.
func (l *load) startState(ctx context.Context, random *rand.Rand) error {
	first := l.nodes.all[0]
	l.contest = &contest{app: "contest", won: map[string]string{}}
	if status, answer := l.call(ctx, first, http.MethodPost, "/orgs/acme/apps", first.Token, []byte(`{"name":"Contest","slug":"contest","platform":"web"}`)); status/100 != 2 {
		return fmt.Errorf("making an application: %d %s", status, answer)
	}
	if err := l.makeIssues(ctx); err != nil {
		return err
	}
	own := rand.New(rand.NewPCG(random.Uint64(), 1))
	l.wg.Go(func() { l.compete(ctx, l.contest, own) })
	for _, w := range slices.Clone(l.issues) {
		own := rand.New(rand.NewPCG(random.Uint64(), 2))
		l.wg.Go(func() { l.decide(ctx, w, own) })
	}
	return nil
}

// checkState checks everything at rest.
func (l *load) checkState(ctx context.Context) {
	l.checkContest(ctx, l.contest)
	for _, n := range l.nodes.all {
		for _, w := range l.issues {
			l.lookAtIssue(ctx, w, n)
		}
	}
}
