package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/actors/alerting"
	"svc/domain"
)

// stored waits until production has a number of events.
func (s *server) stored(want int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%d events are stored", want), func() error {
		if got := len(s.feed()); got != want {
			return fmt.Errorf("%d are", got)
		}
		return nil
	})
}

// TestEveryMonthOfTheLongestRetention sends ten years in one request: each month is a separate part in the store.
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

// TestAThousandPartitions sends events to all partitions of a large log at once, and once more before a restart. The
// short form uses a quarter of them, which a busy machine opens in time under the race detector.
func TestAThousandPartitions(t *testing.T) {
	partitions := "1024"
	if testing.Short() {
		partitions = "256"
	}
	dir, env := t.TempDir(), map[string]string{"SVC_PARTITIONS": partitions}
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
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		return s.node.engine.DialContext(ctx, addr)
	}}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://engine/?database=svc", strings.NewReader(text))
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

// operatorSays sends an operator's command as the command line does, and returns the answer.
func (s *server) operatorSays(args ...string) map[string]any {
	s.t.Helper()
	answer, err := s.admin(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

// TestARowThatTheStoreRefuses makes the store refuse one event of a request. The other events of the request and those
// of another environment are stored, also after a restart, and the operator is notified. Once the store accepts it, the
// event is sent again and counts once.
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
	list := s.operatorSays("deadletters", "list")
	counts, letters := list["counts"].([]any), list["letters"].([]any)
	if len(counts) != 1 || len(letters) != 1 {
		t.Fatalf("dead letters: %v", list)
	}
	count, letter := counts[0].(map[string]any), letters[0].(map[string]any)
	if count["env"] != "production" || count["app"] != "acme/web" || !strings.Contains(letter["reason"].(string), "trap") {
		t.Errorf("dead letters: %v", list)
	}
	if shown := s.operatorSays("deadletters", "show", "--id", letter["id"].(string)); shown["payload"] == "" || shown["kind"] != "event" {
		t.Errorf("the letter is shown as %v", shown)
	}
	ready, err := http.Get("http://" + s.operatorAddr() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Body.Close()
	if said, _ := io.ReadAll(ready.Body); ready.StatusCode != 200 || !strings.Contains(string(said), "warning: 1 items of 1 environments") {
		t.Errorf("readiness says %d %s", ready.StatusCode, said)
	}
	s.stopped()

	again := startServer(t, dir, nil)
	again.settled()
	again.stored(9)
	again.statement("ALTER TABLE events DROP CONSTRAINT trap")
	for _, want := range []float64{1, 0} {
		if got := again.operatorSays("deadletters", "replay", "--id", letter["id"].(string))["replayed"]; got != want {
			t.Errorf("%v letters are replayed, want %v", got, want)
		}
	}
	again.stored(10)
	if list := again.operatorSays("deadletters", "list"); len(list["letters"].([]any)) != 0 {
		t.Errorf("dead letters after the replay: %v", list)
	}
}

// TestAnActorThatCannotBeReadDelaysNobody gives an application's alerting actor an entity that does not decode.
// Occurrences in its environments and elsewhere are stored. Once the entity can be read again, the rule fires for the
// occurrences of the meantime.
func TestAnActorThatCannotBeReadDelaysNobody(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	s.post(appPath+"/alerts", `{"name":"News","kind":"new_issue"}`)
	s.settled()
	broken := domain.Entity{
		Owner: alerting.KindAlerting + "/acme/web", Kind: "alert_told", ID: "1", Payload: []byte("{"), Version: domain.Version{Generation: 1 << 20, Sequence: 1},
	}
	if err := s.node.db.Put(t.Context(), []domain.Entity{broken}, nil, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
	s.stopped()

	again := startServer(t, dir, nil)
	again.send(map[string]any{"type": "error", "message": "fresh"})
	again.send(item("beside", "somebody", "/", time.Now()))
	again.stored(1)
	again.settled()
	if waiting := again.node.outbox.Len(); waiting != 1 {
		t.Fatalf("%d actors are told later, want 1", waiting)
	}
	broken.Deleted, broken.Payload, broken.Version.Sequence = true, nil, 2
	if err := again.node.db.Put(t.Context(), []domain.Entity{broken}, nil, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the rule fires", func() error {
		if rows := again.get(appPath + "/incidents")["data"].([]any); len(rows) != 1 || rows[0].(map[string]any)["occurrences"] != 1.0 {
			return fmt.Errorf("incidents: %v", rows)
		}
		return nil
	})
	eventually(t, "nothing waits", func() error {
		if waiting := again.node.outbox.Len(); waiting != 0 {
			return fmt.Errorf("%d actors", waiting)
		}
		return nil
	})
}
