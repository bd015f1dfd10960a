package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"svc/domain/ingest"
)

// TestASilentSignal sends events for three days and stops. The channel is notified once, also by the server that starts
// afterwards, and once more when events return.
func TestASilentSignal(t *testing.T) {
	clock, dir, notices := &skipping{}, t.TempDir(), atomic.Int64{}
	pager := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { notices.Add(1) }))
	defer pager.Close()
	start := func() *teller {
		return newTeller(startServerWith(t, dir, watched(), func(n *node) []module { n.now = clock.now; return nil }), 4)
	}
	b := start()
	made := b.call("POST", "/console"+appPath+"/channels", b.session(), []byte(`{"name":"Pager","kind":"webhook","url":"`+pager.URL+`"}`), nil)
	channel, _ := object(t, made.body)["id"].(string)
	if made.status != 201 || channel == "" {
		t.Fatalf("making a channel: %d %s", made.status, made.body)
	}
	b.policy(`{"alerts":{"silentSignals":true,"channelIds":["` + channel + `"]}}`)
	order := 0
	send := func() {
		order++
		b.send(map[string]any{"type": "event", "id": fmt.Sprint("order-", order), "name": "order", "distinctId": "ada"})
		b.settled()
	}
	for range 12 {
		clock.ahead.Add(int64(5 * time.Hour))
		send()
	}
	silent := func(want int, told int64) {
		t.Helper()
		eventually(t, "the silence is noticed", func() error {
			clock.ahead.Add(int64(10 * time.Second)) // a node does not judge in its first minutes
			rows := b.get(telemetryPath)["silentSignals"].([]any)
			if got := notices.Load(); len(rows) != want || got != told {
				return fmt.Errorf("%d signals are silent: %v; the channel was told %d times", len(rows), rows, got)
			}
			return nil
		})
	}
	clock.ahead.Add(int64(16 * time.Hour))
	silent(1, 1)
	b.stopped()
	b.server = start().server
	silent(1, 1)
	if row := b.get(telemetryPath)["silentSignals"].([]any)[0].(map[string]any); row["signal"] != string(ingest.SignalEvents) || row["usualPauseMs"].(float64) < 5*3600*1000 {
		t.Errorf("the answer has %v", row)
	}
	send()
	silent(0, 2)
}
