package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"svc/bench/harness"
)

// row holds the members of a list's row that are read.
type row struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	EventCount uint64 `json:"eventCount"`
}

// regressions resolves an issue, lets it occur again, and measures the time from the request until the list says
// regressed, while nothing else happens.
func (b *bench) regressions(ctx context.Context) error {
	var latency harness.Latency
	for n := range b.rounds {
		error := []byte(`{"name":"Regression","message":"it came back"}`)
		if n == 0 {
			if err := b.send(ctx, http.MethodPost, "/api/v1/errors", b.server.Keys["production"].Secret, error); err != nil {
				return err
			}
		}
		status := "open"
		if n > 0 {
			status = "regressed"
		}
		found, err := b.await(ctx, status)
		if err != nil {
			return err
		}
		path := "/api/v1/apps/" + b.server.Organization + "/" + b.server.App + "/errors/" + found.ID
		if err := b.send(ctx, http.MethodPatch, path, b.server.Token, []byte(`{"status":"resolved"}`)); err != nil {
			return err
		}
		began := time.Now()
		if err := b.send(ctx, http.MethodPost, "/api/v1/errors", b.server.Keys["production"].Secret, error); err != nil {
			return err
		}
		if _, err := b.await(ctx, "regressed"); err != nil {
			return err
		}
		latency.Record(time.Since(began))
		b.sent++
	}
	spread := latency.Spread()
	b.add(harness.Measurement{Name: "from the request to regressed in the list", Kind: harness.KindService, Latency: &spread})
	b.result.Ratios = append(b.result.Ratios, harness.AtMost("errors", "from the request to regressed in the list, p99 ms", spread.P99, 2000))
	return nil
}

// await polls the list until it has the issue in a status.
func (b *bench) await(ctx context.Context, status string) (found row, err error) {
	err = harness.Poll(ctx, "the issue to be "+status, time.Minute, 5*time.Millisecond, func(ctx context.Context) (bool, string) {
		var page struct {
			Data []row `json:"data"`
		}
		if err := b.server.Read(ctx, "/errors", url.Values{"status": {status}, "q": {"it came back"}}, &page); err != nil {
			return false, err.Error()
		}
		if len(page.Data) != 1 {
			return false, fmt.Sprintf("%d issues", len(page.Data))
		}
		found = page.Data[0]
		return true, ""
	})
	return found, err
}

// send makes one request that must succeed.
func (b *bench) send(ctx context.Context, method, path, secret string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+b.server.Address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: time.Minute}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = response.Body.Close() }() // the body was read
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return fmt.Errorf("reading an answer: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %d %.200s", method, path, response.StatusCode, answer)
	}
	return nil
}
