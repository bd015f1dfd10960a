package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"
)

// The monitors of this file check a target that counts. One node at a time checks each, so at rest the target sees one
// check per interval. Its rule opens one incident when the target goes down, and none while only nodes do.

const (
	// watchedMonitors is the number of monitors, each with a rule.
	watchedMonitors = 6
	// restTime is how long checks are counted at rest, in intervals of a second.
	restTime = 10 * time.Second
	// incidentTime limits the wait for the incidents.
	incidentTime = time.Minute
)

// watched is the target with its monitors.
type watched struct {
	server *httptest.Server
	down   atomic.Bool
	mu     sync.Mutex
	checks map[string]int // by path
	rules  []string
}

// watchSettings let nodes check the harness every second.
func watchSettings() []string {
	return []string{"SVC_MONITOR_ALLOW=127.0.0.1/32", "SVC_MONITOR_LEAST=1s"}
}

func newWatched() *watched {
	w := &watched{checks: map[string]int{}}
	w.server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.checks[r.URL.Path]++
		w.mu.Unlock()
		if w.down.Load() {
			answer.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	return w
}

// count returns the checks by path and restarts at zero.
func (w *watched) count() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counted := w.checks
	w.checks = map[string]int{}
	return counted
}

// startWatched makes the monitors and their rules.
func (l *load) startWatched(ctx context.Context) error {
	l.watched = newWatched()
	for n := range watchedMonitors {
		monitor, err := l.make(ctx, "monitors", fmt.Sprintf(`{"name":"m%d","url":"%s/m%d","intervalSeconds":1,"confirmations":2}`, n, l.watched.server.URL, n))
		if err != nil {
			return err
		}
		rule, err := l.make(ctx, "alerts", fmt.Sprintf(`{"name":"r%d","kind":"uptime","threshold":1,"comparator":"gte","windowMinutes":1,"condition":{"monitorId":%q}}`, n, monitor))
		if err != nil {
			return err
		}
		l.watched.rules = append(l.watched.rules, rule)
	}
	return nil
}

// make creates an object of the first application and returns its id.
func (l *load) make(ctx context.Context, kind, body string) (string, error) {
	first := l.nodes.all[0]
	status, answer := l.call(ctx, first, http.MethodPost, "/apps/acme/web/"+kind, first.Token, []byte(body))
	var made row
	if err := json.Unmarshal(answer, &made); status != http.StatusCreated || err != nil {
		return "", fmt.Errorf("making one of %s: %d %s", kind, status, answer)
	}
	return made.ID, nil
}

// checkWatched checks monitors and rules at rest: each runs, and on one node.
func (l *load) checkWatched(ctx context.Context) {
	defer l.watched.server.Close()
	if early := l.incidents(ctx, "all"); len(early) > 0 {
		l.problem("the target was up all the time, and there are incidents: %v", early)
	}
	l.watched.count()
	select {
	case <-time.After(restTime):
	case <-ctx.Done():
		return
	}
	counted := l.watched.count()
	for n := range watchedMonitors {
		// A busy machine delays checks; a second owner would make twice as many.
		expected := int(restTime / time.Second)
		if checks := counted[fmt.Sprintf("/m%d", n)]; checks < expected/2 || checks > expected+2 {
			l.problem("monitor m%d was checked %d times in %s at rest, each second was asked for", n, checks, restTime)
		}
	}
	l.watched.down.Store(true)
	l.await(ctx, "open", watchedMonitors)
	time.Sleep(restTime / 2) // a second owner would report the outage, too
	found := l.incidents(ctx, "all")
	for _, rule := range l.watched.rules {
		if found[rule] != 1 {
			l.problem("rule %s made %d incidents of one outage", rule, found[rule])
		}
	}
}

// await waits until count incidents have a status.
func (l *load) await(ctx context.Context, status string, count int) {
	end := time.Now().Add(incidentTime)
	found := l.incidents(ctx, status)
	for ; total(found) != count && time.Now().Before(end) && ctx.Err() == nil; found = l.incidents(ctx, status) {
		time.Sleep(200 * time.Millisecond)
	}
	if total(found) != count {
		l.problem("%d incidents are %s, want %d", total(found), status, count)
	}
}

// incidents counts the incidents of a status by rule.
func (l *load) incidents(ctx context.Context, status string) map[string]int {
	first := l.nodes.all[0]
	code, answer := l.call(ctx, first, http.MethodGet, "/apps/acme/web/incidents?limit=200&status="+status, first.Token, nil)
	var page struct {
		Data []struct {
			RuleID string `json:"ruleId"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &page); code != http.StatusOK || err != nil {
		l.problem("reading incidents: %d %.300s", code, answer)
	}
	found := map[string]int{}
	for _, incident := range page.Data {
		found[incident.RuleID]++
	}
	return found
}

func total(counts map[string]int) (sum int) {
	for _, count := range counts {
		sum += count
	}
	return sum
}
