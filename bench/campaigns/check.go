package main

import (
	"bytes"
	"context"
	_ "embed"
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

//go:embed fates.sql
var fatesQuery string

// found is the result of a sending: the messages that the mail server accepted, and the outcomes that the service
// reports.
type found struct {
	people int
	// taken counts messages, repeated the recipients with more than one, unnamed the ones without a reported outcome.
	taken, repeated, unnamed int
	sent, uncertain          int
	// window counts the uncertain recipients that did get the message.
	window int
}

// row is the measurement of a sending.
func (f *found) row(name string, took time.Duration) harness.Measurement {
	return harness.Measurement{
		Name: name, Kind: harness.KindService, Events: uint64(f.taken), Seconds: took.Seconds(), EventsPerSecond: float64(f.taken) / took.Seconds(),
		Extra: map[string]float64{
			"recipients": float64(f.people), "sent": float64(f.sent), "uncertain": float64(f.uncertain), "inTheWindow": float64(f.window), "repeated": float64(f.repeated), "unnamed": float64(f.unnamed),
		},
	}
}

// check compares the messages of the mail server with the outcome that the service reports for each recipient, and the
// outcomes with the service's statistics.
func (b *bench) check(ctx context.Context, id string, kills int) (*found, error) {
	fates, err := b.fates(ctx, id)
	if err != nil {
		return nil, err
	}
	taken := b.mail.Taken()
	for to, count := range b.before {
		taken[to] -= count
	}
	f, violations := judge(b.people, taken, fates, kills > 0)
	for _, violation := range violations {
		b.violate("%s", violation)
	}
	var read stats
	if err := b.server.Read(ctx, "/campaigns/"+id, nil, &read); err != nil {
		return nil, err
	}
	if s := &read.Stats; s.Sent != f.sent || s.Failures.Uncertain != f.uncertain || s.Failed != f.uncertain || s.Skipped != 0 || s.Queued != 0 {
		b.violate("the statistics are %+v, recipient by recipient %d are sent and %d uncertain", *s, f.sent, f.uncertain)
	}
	return f, nil
}

// judge checks each recipient. A sent recipient has one message, an uncertain one has one or none, and any other one
// has none. Without kills, no recipient is uncertain.
func judge(people int, taken map[string]int, fates map[string]string, killed bool) (f *found, violations []string) {
	f = &found{people: people}
	wrong := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	for n := range people {
		to := address(n)
		got, fate := taken[to], fates[to]
		f.taken += got
		if got > 1 {
			f.repeated++
			wrong("%s got %d messages", to, got)
		}
		switch {
		case fate == "sent":
			f.sent++
			if got == 0 {
				wrong("%s was sent to, and got nothing", to)
			}
		case fate == "uncertain" && killed:
			f.uncertain++
			f.window += got
		default:
			f.unnamed++
			wrong("of %s, who got %d messages, the service says %q", to, got, fate)
		}
	}
	if strangers := len(taken) - people; strangers > 0 {
		wrong("%d addresses of nobody got messages", strangers)
	}
	return f, violations
}

// fates reads the outcome of each recipient from the store, by address.
func (b *bench) fates(ctx context.Context, id string) (map[string]string, error) {
	target := "http://" + b.store + "/?database=svc&param_campaign=" + url.QueryEscape(id)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(fatesQuery))
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	response, err := b.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the store: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // the body is read
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking the store: %d %.300s (%w)", response.StatusCode, answer, err)
	}
	fates := make(map[string]string, b.people)
	decoder := json.NewDecoder(bytes.NewReader(answer))
	for {
		var row struct{ Address, Fate string }
		switch err := decoder.Decode(&row); {
		case errors.Is(err, io.EOF):
			return fates, nil
		case err != nil:
			return nil, fmt.Errorf("decoding what became of recipients: %w", err)
		}
		if before, known := fates[row.Address]; known {
			b.violate("of %s, the service says %q and %q", row.Address, before, row.Fate)
		}
		fates[row.Address] = row.Fate
	}
}
