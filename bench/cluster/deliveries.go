package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"svc/bench/harness"
)

// The conversions of this file are forwarded to a receiver of the harness, which at first answers some of them with
// 503. Through all faults, each acknowledged conversion arrives, and no unsent one does. All requests for one
// conversion carry the same delivery id: it was begun once.

const (
	// conversionPause is the time between two conversions.
	conversionPause = 25 * time.Millisecond
	// deliveryTime limits the wait for the last conversions: a retry comes after 30 s.
	deliveryTime = 2 * time.Minute
	// refusedEvery selects the conversions that are refused at first: one of this many.
	refusedEvery = 50
)

// deliveries is the receiver, with the sent and the arrived conversions.
type deliveries struct {
	server *httptest.Server

	mu sync.Mutex
	// All three maps are keyed by event id: sent has the outcomes that clients know, arrived the number of deliveries,
	// ids the id of the delivery.
	sent    map[string]fate
	arrived map[string]int
	ids     map[string]string
	wrong   []string
}

// ServeHTTP accepts one delivery.
func (d *deliveries) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var delivered struct {
		Event struct {
			ID string `json:"id"`
		} `json:"event"`
	}
	if err != nil || json.Unmarshal(body, &delivered) != nil {
		answer.WriteHeader(http.StatusServiceUnavailable) // the sender died during its request
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	event, id := delivered.Event.ID, r.Header.Get("X-SVC-Delivery")
	switch known := d.ids[event]; {
	case d.sent[event] == 0:
		d.wrong = append(d.wrong, fmt.Sprintf("conversion %q was never sent", event))
	case id == "" || known != "" && known != id:
		d.wrong = append(d.wrong, fmt.Sprintf("conversion %s came as delivery %s and as %s", event, known, id))
	}
	d.ids[event] = id
	d.arrived[event]++
	if d.arrived[event] == 1 && len(d.arrived)%refusedEvery == 0 {
		answer.WriteHeader(http.StatusServiceUnavailable)
	}
}

// startDeliveries creates the destination and begins to send conversions.
func (l *load) startDeliveries(ctx context.Context, random *rand.Rand) error {
	d := &deliveries{sent: map[string]fate{}, arrived: map[string]int{}, ids: map[string]string{}}
	d.server = httptest.NewServer(d)
	l.deliveries = d
	first := l.nodes.all[0]
	session, err := first.Login(ctx, "owner@acme.example")
	if err != nil {
		return err
	}
	body := fmt.Sprintf(`{"kind":"webhook","name":"Receiver","environments":["development"],"mapping":[{"event":"purchase"}],"config":{"url":%q}}`, d.server.URL)
	if _, err := first.Console(ctx, session, http.MethodPost, "/apps/acme/web/destinations", []byte(body), http.StatusCreated); err != nil {
		return fmt.Errorf("making a destination: %w", err)
	}
	own := rand.New(rand.NewPCG(random.Uint64(), 3))
	l.wg.Go(func() { l.convert(ctx, own) })
	return nil
}

// convert sends conversions, each until it is acknowledged.
func (l *load) convert(ctx context.Context, random *rand.Rand) {
	pace := time.NewTicker(conversionPause)
	defer pace.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		id := fmt.Sprintf("%sorder-%d", l.prefix, n)
		l.deliveries.note(id, unknown)
		body := fmt.Appendf(nil, `{"items":[{"type":"event","name":"purchase","id":%q,"distinctId":"buyer-%d","value":%d,"context":{"userAgent":%q}}]}`, id, n%100, n, harness.UserAgents()[0])
		for ctx.Err() == nil {
			at := l.any(random)
			if status, _ := l.call(ctx, at, http.MethodPost, "/batch", at.Keys["development"].Secret, body); status == http.StatusAccepted {
				l.deliveries.note(id, acknowledged)
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// note stores the client's knowledge of a conversion.
func (d *deliveries) note(id string, of fate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent[id] = of
}

// missing returns the acknowledged conversions that have not arrived, and the number of acknowledged ones.
func (d *deliveries) missing() (ids []string, sent int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, of := range d.sent {
		if of == acknowledged {
			sent++
			if d.arrived[id] == 0 {
				ids = append(ids, id)
			}
		}
	}
	return ids, sent
}

// checkDeliveries waits for the last conversions and checks all of them.
func (l *load) checkDeliveries(ctx context.Context) {
	d := l.deliveries
	defer d.server.Close()
	err := harness.Poll(ctx, "the conversions arrive", deliveryTime, time.Second, func(context.Context) (bool, string) {
		lost, sent := d.missing()
		return len(lost) == 0, fmt.Sprintf("%d of %d are missing", len(lost), sent)
	})
	if err != nil {
		l.problem("%v", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, wrong := range d.wrong[:min(len(d.wrong), 5)] {
		l.problem("%s", wrong)
	}
}

// repeated returns the number of arrived conversions, and the number that arrived more than once.
func (d *deliveries) repeated() (all, repeated int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, times := range d.arrived {
		all++
		if times > 1 {
			repeated++
		}
	}
	return all, repeated
}
