package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/bench/harness"
)

const (
	// atPoison sends poison and kills no process: other events must still become visible.
	atPoison moment = "poison"
	// poisonPath is the path that the store refuses.
	poisonPath = "/poison"
	// poisonMonths is the number of months in one request with each poison: more than a store accepts in one insert by
	// default.
	poisonMonths = 110
	// visibleTime limits the additional delay until an unrelated event is visible during poison. It is added to
	// visibleTimes the delay during a request of as many months without poison, which shows the speed of the machine.
	visibleTime  = 5 * time.Second
	visibleTimes = 4
	// spread is the kind of violation that poison causes.
	spread = "poison spread"
)

// poison sends events to a separate environment. The store refuses some of them; the others must be stored.
type poison struct {
	server *harness.Server
	store  string
	next   int
	// stranger has settings, entities and a source map that cannot be read.
	stranger stranger
	// sent and acked count the poison. The map has the ids of the other acknowledged events.
	sent, acked int
	beside      map[string]bool
	// slowest is the greatest additional delay of an unrelated event, beyond the greatest excess over the limit.
	slowest, beyond time.Duration
}

// prepare makes the store refuse the poison, and permits ten-year-old events.
func (p *poison) prepare(ctx context.Context) error {
	p.beside = map[string]bool{}
	trap := "ALTER TABLE events ADD CONSTRAINT IF NOT EXISTS crash_poison CHECK path != '" + poisonPath + "'"
	if err := p.post(ctx, http.MethodPost, "http://"+p.store+"/?database=svc", []byte(trap), nil, nil); err != nil {
		return fmt.Errorf("having the store refuse poison: %w", err)
	}
	address := fmt.Sprintf("http://%s/api/v1/apps/%s/%s", p.server.Address, p.server.Organization, p.server.App)
	err := p.post(ctx, http.MethodPatch, address, []byte(`{"retentionDays":3650}`), func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+p.server.Token)
		return nil
	}, nil)
	if err != nil {
		return fmt.Errorf("keeping events for ten years: %w", err)
	}
	p.stranger = stranger{server: p.server, store: p.store}
	return p.stranger.prepare(ctx)
}

// post sends a body and decodes the answer.
func (p *poison) post(ctx context.Context, method, address string, body []byte, sign func(*http.Request) error, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if sign != nil {
		if err := sign(request); err != nil {
			return err
		}
	}
	response, err := (&http.Client{}).Do(request) // the context limits it
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		return errors.Join(err, fmt.Errorf("status %d: %.500s", response.StatusCode, answer))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// send sends one poison with other events. The kills may prevent its arrival.
func (p *poison) send() {
	p.stranger.send()
	p.deliver(true)
}

// deliver sends a request of many months, with poison or without.
func (p *poison) deliver(poisoned bool) {
	p.next++
	type item struct {
		Type       string `json:"type"`
		Name       string `json:"name"`
		ID         string `json:"id"`
		DistinctID string `json:"distinctId"`
		Path       string `json:"path"`
		Ts         string `json:"ts"`
	}
	now := time.Now().UTC()
	beside := make([]item, poisonMonths)
	for n := range beside {
		id := fmt.Sprintf("beside-%d-%d", p.next, n)
		beside[n] = item{"event", "$pageview", id, id, "/beside", now.AddDate(0, -n, 0).Format(harness.TimeFormat)}
	}
	items := beside
	if poisoned {
		bad := item{"event", "$pageview", fmt.Sprintf("poison-%d", p.next), fmt.Sprintf("mallory-%d", p.next), poisonPath, now.Format(harness.TimeFormat)}
		items = append([]item{bad}, beside...)
	}
	body, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		return // a struct of texts never fails
	}
	conn := harness.NewConn(p.server.Address, "/api/v1/batch", p.server.Keys["staging"].Secret, harness.UserAgents()[0])
	defer conn.Close()
	reply, err := conn.Post(body)
	if errors.Is(err, harness.ErrNotSent) {
		return
	}
	if poisoned {
		p.sent++
	}
	if err != nil || reply.Status != http.StatusAccepted {
		return
	}
	if poisoned {
		p.acked++
	}
	for _, one := range beside {
		p.beside[one.ID] = true
	}
}

// visible returns the time from the answer for an unrelated event until it is in the feed.
func (p *poison) visible(ctx context.Context) (time.Duration, error) {
	p.next++
	id := fmt.Sprintf("bystander-%d", p.next)
	conn := harness.NewConn(p.server.Address, "/api/v1/events", p.server.Keys["development"].Secret, harness.UserAgents()[0])
	defer conn.Close()
	reply, err := conn.Post(fmt.Appendf(nil, `{"name":"bystander","id":"%s","distinctId":"bystander"}`, id))
	if err != nil || reply.Status != http.StatusAccepted {
		return 0, errors.Join(err, fmt.Errorf("sending beside poison: status %d", reply.Status))
	}
	began := time.Now()
	err = harness.Poll(ctx, "an event beside poison", ackTime, 20*time.Millisecond, func(ctx context.Context) (bool, string) {
		page, err := p.server.Feed(ctx, url.Values{"env": {"development"}, "limit": {"5"}})
		if err != nil {
			return false, err.Error()
		}
		return len(page.Data) > 0 && page.Data[0].ID == id, fmt.Sprintf("%d events", len(page.Data))
	})
	return time.Since(began), err
}

// strike compares the delay of unrelated events without and with poison.
func (p *poison) strike(ctx context.Context) error {
	p.deliver(false)
	without, err := p.visible(ctx)
	if err != nil {
		return err
	}
	p.send()
	with, err := p.visible(ctx)
	if err != nil {
		return err
	}
	p.slowest, p.beyond = max(p.slowest, with-without), max(p.beyond, with-without-visibleTimes*without-visibleTime)
	return nil
}

// check counts the dead letters, and the events that were sent along with the poison.
func (p *poison) check(ctx context.Context, found *findings) error {
	var list struct {
		Counts []struct {
			Env     string `json:"env"`
			Letters int    `json:"letters"`
		} `json:"counts"`
	}
	if err := p.post(ctx, http.MethodPost, "http://"+p.server.Admin+"/admin/v1/deadletters.list", []byte("{}"), p.server.SignAsOperator, &list); err != nil {
		return fmt.Errorf("counting dead letters: %w", err)
	}
	letters := 0
	for _, count := range list.Counts {
		if letters += count.Letters; count.Env != "staging" {
			found.violate(spread, "%d dead letters of %s", count.Letters, count.Env)
		}
	}
	if letters < p.acked || letters > p.sent {
		found.violate(spread, "%d dead letters, %d to %d were sent", letters, p.acked, p.sent)
	}
	stored := map[string]int{}
	err := p.server.EachEvent(ctx, "staging", "$pageview", 2*p.next*poisonMonths+1000, func(event harness.StoredEvent) {
		if stored[event.ID]++; strings.HasPrefix(event.ID, "poison-") {
			found.violate(spread, "%s is stored", event.ID)
		}
	})
	if err != nil {
		return fmt.Errorf("reading what was beside poison: %w", err)
	}
	for id := range p.beside {
		if stored[id] != 1 {
			found.violate(spread, "%s is stored %d times", id, stored[id])
		}
	}
	if err := p.stranger.check(ctx, found); err != nil {
		return err
	}
	if p.beyond > 0 {
		found.violate(spread, "somebody else's event was visible %s later beside poison, %s more than allowed", p.slowest, p.beyond)
	}
	return nil
}
