package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/actors"
	"svc/http/admin"
)

// stored waits until production has so many events.
func (s *server) stored(want int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%d events are stored", want), func() error {
		if got := len(s.feed()); got != want {
			return fmt.Errorf("%d are", got)
		}
		return nil
	})
}

// TestEveryMonthOfTheLongestRetention sends ten years in one request: each month is a part of
// its own in the store.
func TestEveryMonthOfTheLongestRetention(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	if got := s.call("PATCH", appPath, s.boot.Token, []byte(`{"retentionDays":3650}`), nil); got.status != 200 {
		t.Fatalf("setting the retention: %d %s", got.status, got.body)
	}
	const months = 119
	var items []map[string]any
	for n := range months {
		items = append(items, item(fmt.Sprintf("month-%d", n), "somebody", "/", time.Now().AddDate(0, -n, 0)))
	}
	s.send(items...)
	s.settled()
	s.stored(months)
}

// TestAThousandPartitions has the partitions of a large log bring events at once, and once more
// before a restart.
func TestAThousandPartitions(t *testing.T) {
	dir, env := t.TempDir(), map[string]string{"SVC_PARTITIONS": "1024"}
	sent := 0
	publish := func(s *server) {
		items := make([]map[string]any, 1000)
		for n := range items {
			items[n] = item(fmt.Sprintf("event-%d", sent), fmt.Sprintf("visitor-%d", sent), "/", time.Now())
			sent++
		}
		s.send(items...)
	}
	s := startServer(t, dir, env)
	publish(s)
	s.settled()
	publish(s)
	s.stopped()
	again := startServer(t, dir, env)
	again.settled()
	again.stored(sent)
}

// statement runs a statement in the engine of the server.
func (s *server) statement(text string) {
	s.t.Helper()
	client := nethttp.Client{Transport: &nethttp.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		return s.node.engine.DialContext(ctx, addr)
	}}}
	defer client.CloseIdleConnections()
	request, err := nethttp.NewRequestWithContext(s.t.Context(), nethttp.MethodPost, "http://engine/?database=svc", strings.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		answer, _ := io.ReadAll(response.Body)
		s.t.Fatalf("%s: %d %s", text, response.StatusCode, answer)
	}
}

// operatorSays sends an operator's command and decodes its answer.
func (s *server) operatorSays(call string, command admin.Command, into any) {
	s.t.Helper()
	body, err := json.Marshal(command)
	if err != nil {
		s.t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(s.t.Context(), "POST", "http://localhost/admin/v1/"+call, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer operator")
	answer := httptest.NewRecorder()
	s.operatorMux().ServeHTTP(answer, request)
	if answer.Code != 200 {
		s.t.Fatalf("%s: %d %s", call, answer.Code, answer.Body)
	}
	if err := json.Unmarshal(answer.Body.Bytes(), into); err != nil {
		s.t.Fatal(err)
	}
}

// operatorMux is the operator's listener over the parts of the server.
func (s *server) operatorMux() nethttp.Handler {
	n := s.node
	return admin.New(admin.Config{
		Gatherer: n.registry, Operator: n.identity, Now: n.now, Token: svc.Secret("operator"),
		Checks:  []admin.Check{{Name: "deadLetters", Ready: n.lettersWaiting, Warning: true}},
		Letters: &actors.Letters{Store: n.db, Log: logProducer{n.producer, n.space}, Place: n.placeOf},
	})
}

// TestARowThatTheStoreRefuses has the store refuse one event of a request. The others of the request
// and those of another environment are stored, also after a restart, the operator is told, and once
// the store takes it, the event is sent again and counts once.
func TestARowThatTheStoreRefuses(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	s.statement("ALTER TABLE events ADD CONSTRAINT trap CHECK path != '/poison'")
	items := []map[string]any{item("poison", "mallory", "/poison", time.Now())}
	for n := range 9 {
		items = append(items, item(fmt.Sprintf("good-%d", n), fmt.Sprintf("visitor-%d", n), "/", time.Now()))
	}
	s.send(items...)
	body := []byte(`{"name":"page_view","distinctId":"bystander","id":"bystander"}`)
	if got := s.call("POST", "/api/v1/events", s.boot.Keys["staging"].Secret, body, nil); got.status != 202 {
		t.Fatalf("sending to staging: %d %s", got.status, got.body)
	}
	s.stored(9)
	eventually(t, "the other environment's event is stored", func() error {
		if rows := s.get(appPath + "/events?env=staging")["data"].([]any); len(rows) != 1 {
			return fmt.Errorf("%d rows", len(rows))
		}
		return nil
	})
	s.settled()
	var list admin.LetterList
	s.operatorSays("deadletters.list", admin.Command{}, &list)
	if len(list.Counts) != 1 || list.Counts[0].Env != "production" || list.Counts[0].App != "acme/web" || len(list.Letters) != 1 || !strings.Contains(list.Letters[0].Reason, "trap") {
		t.Fatalf("dead letters: %+v", list)
	}
	ready := httptest.NewRecorder()
	s.operatorMux().ServeHTTP(ready, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/readyz", nil))
	if ready.Code != 200 || !strings.Contains(ready.Body.String(), "warning: 1 items of 1 environments") {
		t.Errorf("readiness says %d %s", ready.Code, ready.Body)
	}
	s.stopped()

	again := startServer(t, dir, nil)
	again.settled()
	again.stored(9)
	again.statement("ALTER TABLE events DROP CONSTRAINT trap")
	var replayed struct{ Replayed int }
	for _, want := range []int{1, 0} {
		again.operatorSays("deadletters.replay", admin.Command{ID: list.Letters[0].ID}, &replayed)
		if replayed.Replayed != want {
			t.Errorf("%d letters are replayed, want %d", replayed.Replayed, want)
		}
	}
	again.stored(10)
	again.operatorSays("deadletters.list", admin.Command{}, &list)
	if len(list.Counts) != 0 || len(list.Letters) != 0 {
		t.Errorf("dead letters after the replay: %+v", list)
	}
}
