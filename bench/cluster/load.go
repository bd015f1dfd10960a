package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc/bench/harness"
)

// fate is the outcome of a request, as far as its client knows.
type fate uint8

const (
	unknown fate = iota + 1
	acknowledged
)

// load is a set of clients that send events and change state through any node.
type load struct {
	nodes  *nodes
	client *http.Client
	prefix string

	acked    atomic.Int64
	changes  atomic.Int64
	lastAck  atomic.Int64
	longest  atomic.Int64
	wg       sync.WaitGroup
	events   sync.Map // id → fate
	sequence atomic.Int64

	mu       sync.Mutex
	statuses map[int]int
	broken   int
	problems []string
	writers  []*writer
	contest  *contest
	issues   []*issueWriter
	watched  *watched
	flips    *flips
	model    *model
	// deliveries are the conversions and their receiver.
	deliveries *deliveries
	people     *people
	bills      *bills
	account    *account
	outage     *outage
}

// writer changes one application, one change after the other.
type writer struct {
	app string
	// labels are the minted keys, by fate.
	labels map[string]fate
	order  []string
	name   register
}

func newLoad(c *nodes, m *model, seed uint64) *load {
	return &load{
		nodes: c, model: m, prefix: fmt.Sprintf("cluster-%d-", seed), statuses: map[int]int{},
		client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
}

// problem records a violation.
func (l *load) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.problems) < 50 {
		l.problems = append(l.problems, fmt.Sprintf(format, args...))
	}
}

// call sends one request to a node; status 0 means that no answer came. Every answer is a success, a 503 with
// Retry-After, or one of the expected statuses.
func (l *load) call(ctx context.Context, n *node, method, path, token string, body []byte, expected ...int) (int, []byte) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+n.Address+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		l.problem("making a request: %v", err)
		return 0, nil
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := l.client.Do(request)
	var answer []byte
	status, later := 0, ""
	if err == nil {
		later = response.Header.Get("Retry-After")
		answer, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	if err == nil {
		status = response.StatusCode
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if status == 0 {
		l.broken++
		return 0, nil
	}
	l.statuses[status]++
	retriable := status == http.StatusServiceUnavailable && later != ""
	if status/100 != 2 && !retriable && !slices.Contains(expected, status) && len(l.problems) < 50 {
		l.problems = append(l.problems, fmt.Sprintf("%s %s %s answered %d: %.200s", n.name, method, path, status, answer))
	}
	return status, answer
}

// any returns a random node.
func (l *load) any(random *rand.Rand) *node { return l.nodes.all[random.IntN(len(l.nodes.all))] }

// start runs the clients until ctx ends.
func (l *load) start(ctx context.Context, seed uint64, o *options) error {
	random := rand.New(rand.NewPCG(seed, 7))
	for i := range o.writers {
		w := &writer{app: fmt.Sprintf("writer-%d", i), labels: map[string]fate{}}
		body := fmt.Sprintf(`{"name":"w0","slug":%q,"platform":"web"}`, w.app)
		if status, answer := l.call(ctx, l.nodes.all[0], http.MethodPost, "/orgs/acme/apps", l.nodes.all[0].Token, []byte(body)); status/100 != 2 {
			return fmt.Errorf("making an application: %d %s", status, answer)
		}
		l.writers = append(l.writers, w)
		own := rand.New(rand.NewPCG(seed, random.Uint64()))
		l.wg.Go(func() { l.write(ctx, w, own) })
	}
	if err := errors.Join(l.startState(ctx, random), l.startWatched(ctx), l.startTalks(ctx, random), l.startDeliveries(ctx, random), l.startBills(ctx, seed, random), l.startAccount(ctx, random), l.startOutage(ctx)); err != nil {
		return err
	}
	l.startFlips(ctx, random)
	l.startPeople(ctx, random)
	for range o.senders {
		own := rand.New(rand.NewPCG(seed, random.Uint64()))
		l.wg.Go(func() { l.send(ctx, own, o) })
	}
	return nil
}

// send sends batches of events, each until it is acknowledged.
func (l *load) send(ctx context.Context, random *rand.Rand, o *options) {
	pace := time.NewTicker(time.Duration(float64(time.Second) * float64(o.senders*o.batch) / float64(o.rate)))
	defer pace.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		var ids []string
		body := []byte(`{"items":[`)
		for i := range o.batch {
			id := fmt.Sprintf("%s%d", l.prefix, l.sequence.Add(1))
			if i > 0 {
				body = append(body, ',')
			}
			body = harness.AppendItem(body, []byte(id), random.IntN(2000), random.IntN(harness.Paths), time.Now())
			ids = append(ids, id)
			l.events.Store(id, unknown)
		}
		body = append(body, `]}`...)
		for ctx.Err() == nil {
			n := l.any(random)
			if status, _ := l.call(ctx, n, http.MethodPost, "/batch", n.Keys["production"].Secret, body); status == http.StatusAccepted {
				l.celebrate(len(ids))
				for _, id := range ids {
					l.events.Store(id, acknowledged)
				}
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// celebrate counts acknowledged events and the longest silence between two.
func (l *load) celebrate(events int) {
	l.acked.Add(int64(events))
	l.longest.Store(int64(l.silence()))
	l.lastAck.Store(time.Now().UnixNano())
}

// listen begins to measure silence.
func (l *load) listen() {
	l.longest.Store(0)
	l.lastAck.Store(time.Now().UnixNano())
}

// silence is the longest time without an acknowledgement since listen, up to now.
func (l *load) silence() time.Duration {
	return max(time.Duration(l.longest.Load()), time.Duration(time.Now().UnixNano()-l.lastAck.Load()))
}

// write changes an application: it mints keys with numbered labels and gives it numbered names. It reads each back
// through another node.
func (l *load) write(ctx context.Context, w *writer, random *rand.Rand) {
	for n := 1; ctx.Err() == nil; n++ {
		time.Sleep(time.Duration(20+random.IntN(60)) * time.Millisecond)
		path := "/apps/acme/" + w.app
		switch random.IntN(4) {
		case 0:
			label := fmt.Sprintf("k%d", n)
			at := l.any(random)
			w.labels[label] = unknown
			status, _ := l.call(ctx, at, http.MethodPost, path+"/keys", at.Token, fmt.Appendf(nil, `{"kind":"public","environment":"staging","label":%q}`, label))
			if status/100 == 2 {
				w.labels[label], w.order = acknowledged, append(w.order, label)
				l.changes.Add(1)
			}
		case 1:
			at := l.any(random)
			w.name.send(n)
			status, _ := l.call(ctx, at, http.MethodPatch, path, at.Token, fmt.Appendf(nil, `{"name":"w%d"}`, n))
			if status/100 == 2 {
				w.name.acknowledge(n)
				l.changes.Add(1)
			}
		default:
			l.look(ctx, w, l.any(random))
		}
	}
}

// look reads the name.
func (l *load) look(ctx context.Context, w *writer, at *node) {
	status, answer := l.call(ctx, at, http.MethodGet, "/apps/acme/"+w.app, at.Token, nil)
	if status != http.StatusOK {
		return
	}
	var app struct {
		Name string `json:"name"`
	}
	var number int
	if err := json.Unmarshal(answer, &app); err != nil {
		l.problem("reading %s: %v", w.app, err)
		return
	}
	if _, err := fmt.Sscanf(app.Name, "w%d", &number); err != nil || !w.name.allows(number) {
		l.problem("%s reads %q through %s; w%d was acknowledged, w%d was sent last", w.app, app.Name, at.name, w.name.acked, w.name.sent)
	}
}

// check compares the stored data with the acknowledged changes.
func (l *load) check(ctx context.Context) error {
	first := l.nodes.all[0]
	if err := first.Barrier(ctx, 1, 2*time.Minute); err != nil {
		return err
	}
	stored := map[string]int{}
	var limit int
	l.events.Range(func(any, any) bool { limit++; return true })
	err := errors.Join(ctx.Err(), first.EachEvent(ctx, "production", "$pageview", 2*limit+1000, func(e harness.StoredEvent) {
		if strings.HasPrefix(e.ID, l.prefix) {
			stored[e.ID]++
		}
	}))
	if err != nil {
		return err
	}
	var lost, twice int
	l.events.Range(func(id, of any) bool {
		switch count := stored[id.(string)]; {
		case count > 1:
			twice++
		case count == 0 && of.(fate) == acknowledged:
			lost++
		}
		return true
	})
	if lost+twice > 0 {
		l.problem("%d acknowledged events are lost, %d are stored twice", lost, twice)
	}
	wrong, err := harness.WrongAggregates(ctx, l.nodes.store)
	if err != nil {
		return err
	}
	for _, difference := range wrong {
		l.problem("%s", difference)
	}
	for _, w := range l.writers {
		l.checkWriter(ctx, w)
	}
	l.checkState(ctx)
	l.checkOutage(ctx)
	l.checkFlips(ctx)
	l.checkWatched(ctx)
	l.checkTalks()
	l.checkDeliveries(ctx)
	l.checkPeople(ctx)
	l.checkBills(ctx)
	l.checkAccount(ctx)
	return nil
}

// checkWriter reads an application through every node.
func (l *load) checkWriter(ctx context.Context, w *writer) {
	for _, n := range l.nodes.all {
		l.look(ctx, w, n)
		var found []string
		for _, label := range l.keys(ctx, w, n) {
			if w.labels[label] == 0 {
				l.problem("%s has a key %q that was never sent", w.app, label)
			}
			if w.labels[label] == acknowledged {
				found = append(found, label)
			}
		}
		if !slices.Equal(found, w.order) {
			l.problem("%s has %d of %d acknowledged keys, or in another order, through %s", w.app, len(found), len(w.order), n.name)
		}
	}
}

// keys lists the labels of an application's keys, page by page, the oldest first.
func (l *load) keys(ctx context.Context, w *writer, at *node) (labels []string) {
	for cursor := ""; ; {
		status, answer := l.call(ctx, at, http.MethodGet, "/apps/acme/"+w.app+"/keys?limit=200"+cursor, at.Token, nil)
		var page struct {
			Data []struct {
				Label string `json:"label"`
			} `json:"data"`
			NextCursor string `json:"nextCursor"`
		}
		if err := json.Unmarshal(answer, &page); status != http.StatusOK || err != nil {
			l.problem("reading the keys of %s through %s: %d %.300s", w.app, at.name, status, answer)
			return labels
		}
		for _, key := range page.Data {
			labels = append(labels, key.Label)
		}
		if page.NextCursor == "" {
			return labels
		}
		cursor = "&cursor=" + page.NextCursor
	}
}
