package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"svc/domain/destination"
)

// received is one request that a receiver accepted.
type received struct {
	header http.Header
	raw    []byte
	body   struct {
		Type, SentAt string
		Event        struct {
			ID, Name, SourceEvent, Timestamp string
			App                              struct{ ID, Environment string }
			Value                            *float64
			Currency                         *string
			Contents                         []map[string]any
			Properties, Context              map[string]any
		}
		Person map[string]any
	}
}

// receiver is a webhook's receiver. It answers 204 unless answer decides otherwise.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	taken  []received
	answer func(w http.ResponseWriter, r *http.Request)
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		one := received{header: request.Header}
		one.raw, _ = io.ReadAll(request.Body)
		if err := json.Unmarshal(one.raw, &one.body); err != nil {
			t.Errorf("a body is %s: %v", one.raw, err)
		}
		r.mu.Lock()
		r.taken = append(r.taken, one)
		answer := r.answer
		r.mu.Unlock()
		if answer == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

// requests returns the accepted requests.
func (r *receiver) requests() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received{}, r.taken...)
}

const destinationsPath = "/api/v1/apps/acme/web/destinations"

// destination creates a destination in the console and returns its id and its secret.
func (s *server) destination(session, body string) (id, secret string) {
	s.t.Helper()
	got := s.call("POST", "/console"+destinationsPath, session, []byte(body), nil)
	if got.status != 201 {
		s.t.Fatalf("making a destination: %d %s", got.status, got.body)
	}
	made := object(s.t, got.body)
	secret, _ = made["secret"].(string)
	return made["id"].(string), secret
}

// signed reports whether a request is signed with a secret.
func (r *received) signed(secret string) bool {
	stamp, _, _ := strings.Cut(strings.TrimPrefix(r.header.Get("X-SVC-Signature"), "t="), ",")
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte(stamp + "."))
	sum.Write(r.raw)
	return strings.Contains(r.header.Get("X-SVC-Signature"), ",v1="+hex.EncodeToString(sum.Sum(nil)))
}

const purchases = `{"kind":"webhook","name":"Shop","mapping":[{"event":"purchase","destinationEvent":"Purchase","valueProperty":"total","currency":"eur"}],"config":{"url":"%s"}}`

// TestAConversionIsForwarded follows conversions from ingest to a webhook: the sent and the unsent ones, and the
// delivery log.
func TestAConversionIsForwarded(t *testing.T) {
	s := startServer(t, t.TempDir(), watched())
	session, shop := s.session(), newReceiver(t)
	id, secret := s.destination(session, fmt.Sprintf(purchases, shop.URL+"/hook?key=hidden"))
	if !strings.HasPrefix(secret, "whsec_") {
		t.Fatalf("the secret is %q", secret)
	}
	s.send(map[string]any{"type": "identify", "distinctId": "ada", "traits": map[string]any{"email": " Ada@Example.com ", "name": "Ada", "phone": "+44 20 7946 0958"}})
	s.settled()
	s.send(
		map[string]any{
			"type": "event", "id": "order-1", "name": "purchase", "distinctId": "ada", "url": "https://shop.example/thanks?utm_source=news&gclid=g1",
			"properties": map[string]any{"total": "12.50", "items": []any{map[string]any{"sku": "s1", "quantity": 2, "price": 6.25, "name": "Tea"}}},
		},
		map[string]any{"type": "event", "id": "order-2", "name": "purchase", "distinctId": "bob", "integrations": map[string]any{"All": false}},
		map[string]any{"type": "event", "id": "order-3", "name": "purchase", "distinctId": "robot", "context": map[string]any{"userAgent": "Googlebot/2.1 (+http://www.google.com/bot.html)"}},
		map[string]any{"type": "event", "id": "order-4", "name": "other", "distinctId": "ada"},
		map[string]any{"type": "event", "id": "order-5", "name": "purchase", "distinctId": "bob", "value": 3, "integrations": map[string]any{"All": false, "webhook": true}},
	)
	eventually(t, "the conversions arrive", func() error {
		if got := shop.requests(); len(got) != 2 {
			return fmt.Errorf("%d requests", len(got))
		}
		return nil
	})
	for _, got := range shop.requests() {
		if !got.signed(secret) || got.header.Get("X-SVC-Attempt") != "1" || got.header.Get("X-SVC-Delivery") != destination.DispatchID(id, got.body.Event.ID) || got.header.Get("Webhook-Id") != got.body.Event.ID {
			t.Errorf("headers are %v", got.header)
		}
		if got.body.Event.ID != "order-1" {
			continue
		}
		event := got.body.Event
		if got.body.Type != "destination.event" || event.Name != "Purchase" || event.SourceEvent != "purchase" || event.Value == nil || *event.Value != 12.5 || *event.Currency != "EUR" || event.App.Environment != "production" ||
			fmt.Sprint(event.Contents) != "[map[id:s1 name:Tea price:6.25 quantity:2]]" || event.Context["path"] != "/thanks" {
			t.Errorf("the event is %s", got.raw)
		}
		if got.body.Person["emailSha256"] != destination.SHA256Hex("ada@example.com") || got.body.Person["phoneSha256"] != destination.SHA256Hex("+442079460958") || got.body.Person["name"] != "Ada" || got.body.Person["distinctId"] != "ada" {
			t.Errorf("the person is %v", got.body.Person)
		}
	}
	eventually(t, "the log has them", func() error {
		got := s.get(destinationsPath + "/" + id + "/deliveries?status=accepted")["data"].([]any)
		if len(got) != 2 {
			return fmt.Errorf("%v", got)
		}
		for _, row := range got {
			if text := fmt.Sprint(row); strings.Contains(text, "hidden") || strings.Contains(text, secret) || strings.Contains(text, destination.SHA256Hex("ada@example.com")) || strings.Contains(text, "v1=") {
				t.Errorf("the log shows %s", text)
			}
		}
		return nil
	})
	row := s.get(destinationsPath)["data"].([]any)[0].(map[string]any)
	if row["lastDispatchAt"] == nil || row["lastError"] != nil || row["hasCredential"] != true || row["kindLabel"] != "Signed webhook" {
		t.Errorf("the destination is %v", row)
	}
	s.rotates(t, session, id, secret, shop)
	s.forgets(t, session, id, shop)
}

// rotates checks that two secrets sign during a rotation.
func (s *server) rotates(t *testing.T, session, id, secret string, shop *receiver) {
	t.Helper()
	const next = "another-signing-secret"
	if got := s.call("PUT", "/console"+destinationsPath+"/"+id+"/credential", session, []byte(`{"credential":"`+next+`"}`), nil); got.status != 200 || strings.Contains(string(got.body), next) {
		t.Fatalf("replacing the secret: %d %s", got.status, got.body)
	}
	got := s.call("POST", destinationsPath+"/test/"+id, s.boot.Token, nil, nil)
	if answer := object(t, got.body); got.status != 200 || answer["ok"] != true || answer["error"] != nil {
		t.Fatalf("testing: %d %s", got.status, got.body)
	}
	all := shop.requests()
	last := all[len(all)-1]
	if !last.signed(secret) || !last.signed(next) || last.body.Event.Name != "test" || strings.Count(last.header.Get("Webhook-Signature"), "v1,") != 2 {
		t.Errorf("during a rotation: %v %s", last.header, last.raw)
	}
}

// forgets checks that nothing is sent of a person that was erased while a conversion waited, nor for a deleted
// destination.
func (s *server) forgets(t *testing.T, session, id string, shop *receiver) {
	t.Helper()
	shop.mu.Lock()
	shop.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	before := len(shop.taken)
	shop.mu.Unlock()
	s.send(map[string]any{"type": "event", "id": "order-9", "name": "purchase", "distinctId": "ada"})
	eventually(t, "the conversion waits", func() error {
		if row := s.get(destinationsPath)["data"].([]any)[0].(map[string]any); row["waiting"] != 1.0 || row["lastError"] != "the destination answered with status 503" {
			return fmt.Errorf("%v", row)
		}
		return nil
	})
	people := s.get(appPath + "/people?q=ada")["data"].([]any)
	s.erase(t, people[0].(map[string]any)["id"].(string))
	if got := s.call("PATCH", "/console"+destinationsPath+"/"+id, session, []byte(`{"enabled":false}`), nil); got.status != 200 {
		t.Fatalf("switching off: %d %s", got.status, got.body)
	}
	if got := shop.requests(); len(got) != before+1 {
		t.Errorf("%d requests after the erasure, want %d", len(got), before+1)
	}
	if got := s.call("DELETE", "/console"+destinationsPath+"/"+id, session, nil, nil); got.status != 204 {
		t.Fatalf("deleting: %d %s", got.status, got.body)
	}
	if rows := s.get(destinationsPath)["data"].([]any); len(rows) != 0 {
		t.Errorf("after the deletion: %v", rows)
	}
}

// TestConversionsAreBegunOnceAcrossKills kills the process while it forwards. Every conversion arrives, as one
// delivery.
func TestConversionsAreBegunOnceAcrossKills(t *testing.T) {
	dir, shop := t.TempDir(), newReceiver(t)
	s := startServer(t, dir, watched())
	s.destination(s.session(), fmt.Sprintf(purchases, shop.URL))
	s.stopped()
	s = startChild(t, dir, watched())
	const rounds, each = 5, 40
	for round := range rounds {
		for n := range each {
			s.send(map[string]any{"type": "event", "id": fmt.Sprintf("order-%d-%d", round, n), "name": "purchase", "distinctId": fmt.Sprint("u", n)})
		}
		s.stopped()
		s = startChild(t, dir, watched())
	}
	var requests []received
	eventually(t, "every conversion arrives", func() error {
		requests = shop.requests()
		events := map[string]bool{}
		for i := range requests {
			events[requests[i].body.Event.ID] = true
		}
		if len(events) != rounds*each {
			return fmt.Errorf("%d of %d conversions after %d requests", len(events), rounds*each, len(requests))
		}
		return nil
	})
	deliveries := map[string]string{}
	for i := range requests {
		id, delivery := requests[i].body.Event.ID, requests[i].header.Get("X-SVC-Delivery")
		if known := deliveries[id]; known != "" && known != delivery {
			t.Errorf("%s has the deliveries %s and %s", id, known, delivery)
		}
		deliveries[id] = delivery
	}
	if repeated := len(requests) - len(deliveries); repeated > rounds*each/2 {
		t.Errorf("%d of %d requests are repetitions", repeated, len(requests))
	}
}
