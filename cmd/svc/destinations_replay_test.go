package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc/domain/destination"
)

// skipping is a clock that a test advances.
type skipping struct{ ahead atomic.Int64 }

func (c *skipping) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// deliveries returns the delivery log of a destination.
func (s *server) deliveries(id, query string) (rows []map[string]any) {
	s.t.Helper()
	for _, row := range s.get(destinationsPath + "/" + id + "/deliveries?" + query)["data"].([]any) {
		rows = append(rows, row.(map[string]any))
	}
	return rows
}

// parked waits until deliveries of a destination are parked, and skips the pauses between attempts.
func (s *server) parked(clock *skipping, id string, want int) []map[string]any {
	s.t.Helper()
	var rows []map[string]any
	eventually(s.t, "the deliveries are parked", func() error {
		for _, row := range s.deliveries(id, "status=retrying") {
			if next, err := time.Parse(time.RFC3339, row["nextAttemptAt"].(string)); err == nil && next.After(clock.now()) {
				clock.ahead.Add(int64(next.Sub(clock.now()) + time.Millisecond))
			}
		}
		s.get(destinationsPath) // a read makes the queue check its clock
		if rows = s.deliveries(id, "status=parked"); len(rows) != want {
			return fmt.Errorf("%d are", len(rows))
		}
		return nil
	})
	return rows
}

// replay replays the parked deliveries of a destination, one or all.
func (s *server) replay(id, body string) (int, map[string]any) {
	s.t.Helper()
	got := s.call("POST", destinationsPath+"/"+id+"/replay", s.boot.Token, []byte(body), nil)
	return got.status, object(s.t, got.body)
}

// TestParkedDeliveriesAreReplayed lets a receiver refuse conversions until they are parked, and replays one and then
// all. Each arrives under its earlier ids.
func TestParkedDeliveriesAreReplayed(t *testing.T) {
	clock, shop := &skipping{}, newReceiver(t)
	s := startServerWith(t, t.TempDir(), watched(), func(n *node) []module { n.now = clock.now; return nil })
	id, secret := s.destination(s.session(), fmt.Sprintf(purchases, shop.URL))
	shop.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	for _, event := range []string{"order-1", "order-2"} {
		s.send(map[string]any{"type": "event", "id": event, "name": "purchase", "distinctId": "ada"})
	}
	for _, row := range s.parked(clock, id, 2) {
		if row["attempts"] != 4.0 || row["statusCode"] != 503.0 || row["nextAttemptAt"] != nil {
			t.Errorf("a parked delivery is %v", row)
		}
	}
	refused := shop.requests()
	if len(refused) != 8 {
		t.Fatalf("%d attempts before the replay, want 8", len(refused))
	}
	shop.mu.Lock()
	shop.answer = nil
	shop.mu.Unlock()
	accepted := func(want ...string) {
		t.Helper()
		eventually(t, "the replayed deliveries are accepted", func() error {
			var events []string
			for _, row := range s.deliveries(id, "status=accepted") {
				events = append(events, row["eventId"].(string))
			}
			if slices.Sort(events); !slices.Equal(events, want) {
				return fmt.Errorf("%q are", events)
			}
			return nil
		})
	}
	if status, answer := s.replay(id, `{"deliveryId":"`+destination.DispatchID(id, "order-2")+`"}`); status != 200 || answer["replayed"] != 1.0 {
		t.Fatalf("replaying one: %d %v", status, answer)
	}
	accepted("order-2")
	if status, answer := s.replay(id, `{}`); status != 200 || answer["replayed"] != 1.0 || answer["more"] != false {
		t.Fatalf("replaying all: %d %v", status, answer)
	}
	accepted("order-1", "order-2")
	if status, _ := s.replay(id, `{"deliveryId":"`+destination.DispatchID(id, "order-2")+`"}`); status != 404 {
		t.Errorf("replaying what was accepted: %d", status)
	}
	replayed := shop.requests()[len(refused):]
	if len(replayed) != 2 {
		t.Errorf("%d requests of replays, want 2", len(replayed))
	}
	for i := range replayed {
		event := replayed[i].body.Event.ID
		if want := []string{"order-2", "order-1"}[i]; event != want || replayed[i].header.Get("X-SVC-Delivery") != destination.DispatchID(id, want) || !replayed[i].signed(secret) {
			t.Errorf("replay %d is %s with %v", i, event, replayed[i].header)
		}
	}
}

// TestParkedDeliveriesOfTheErasedAreGone erases a person with one parked delivery and another one that waits while the
// destination is off. Afterwards neither is shown, sent or stored.
func TestParkedDeliveriesOfTheErasedAreGone(t *testing.T) {
	clock, shop, dir := &skipping{}, newReceiver(t), t.TempDir()
	env := watched()
	env["SVC_ERASURE_DELAY"] = "1s"
	s := startServerWith(t, dir, env, func(n *node) []module { n.now = clock.now; return nil })
	shortenOldParts(t, s)
	session := s.session()
	id, _ := s.destination(session, fmt.Sprintf(purchases, shop.URL))
	shop.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	email := planted["e-mail"]
	bought := func(event, distinct string) map[string]any {
		return map[string]any{"type": "event", "id": event, "name": "purchase", "distinctId": distinct, "properties": map[string]any{"note": "for " + distinct}}
	}
	s.send(map[string]any{"type": "identify", "distinctId": email, "traits": map[string]any{"name": planted["name"]}}, bought("order-1", email), bought("order-2", "somebody"))
	s.parked(clock, id, 2)
	s.send(bought("order-3", email))
	eventually(t, "the third one waits", func() error {
		if rows := s.deliveries(id, "status=retrying"); len(rows) != 1 {
			return fmt.Errorf("%v", rows)
		}
		return nil
	})
	before := len(shop.requests())
	s.erase(t, s.get(appPath + "/people?q=zephyrine")["data"].([]any)[0].(map[string]any)["id"].(string))
	if rows := s.deliveries(id, ""); len(rows) != 1 || rows[0]["eventId"] != "order-2" {
		t.Errorf("after the erasure the log shows %v", rows)
	}
	if status, _ := s.replay(id, `{"deliveryId":"`+destination.DispatchID(id, "order-1")+`"}`); status != 404 {
		t.Errorf("replaying what an erased person did: %d", status)
	}
	if got := s.call("PATCH", "/console"+destinationsPath+"/"+id, session, []byte(`{"enabled":false}`), nil); got.status != 200 {
		t.Fatalf("switching off: %d %s", got.status, got.body)
	}
	eventually(t, "the erasure is complete", func() error {
		if row := s.get(appPath + "/erasures")["data"].([]any)[0].(map[string]any); row["status"] != "complete" {
			return fmt.Errorf("%v", row)
		}
		return nil
	})
	clock.ahead.Add(int64(time.Hour))
	eventuallyFiles(t, "nothing of the person waits or is stored", func() error {
		if row := s.get(destinationsPath)["data"].([]any)[0].(map[string]any); row["waiting"] != 0.0 {
			return fmt.Errorf("%v", row)
		}
		if rows := s.deliveries(id, ""); len(rows) != 1 || rows[0]["eventId"] != "order-2" {
			return fmt.Errorf("the log shows %v", rows)
		}
		for _, file := range filesWith(t, dir) {
			// The engine drops replaced parts itself.
			if parts := s.tableOf(t, file); !strings.HasPrefix(file, filepath.Join(dir, "log")) && (len(parts) != 1 || !strings.HasSuffix(parts[0], " 0")) {
				return fmt.Errorf("%s of %q holds a planted text", file, parts)
			}
		}
		return nil
	})
	if got := shop.requests(); len(got) != before {
		t.Errorf("%d requests after the erasure", len(got)-before)
	}
}
