package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc"
	"svc/actors/enrich"
	"svc/protos"
)

// world is a log and a store that survive crashes, and a process that does not.
// Everything durable happens in small steps; before any of them the process may
// die, and from then on nothing it does has an effect.
type world struct {
	rng        *rand.Rand
	partitions int
	log        [][]svc.LogRecord
	sent       map[string]int
	committed  []svc.LogPosition
	rows       []storedRow
	view       []storedRow     // what a materialized view of the rows holds
	notes      map[string]bool // token and month whose part is stored
	// occurrences are stored like rows; decisions are the issues' entities.
	occurrences []storedOccurrence
	decisions   map[string]svc.Entity
	// points are stored like rows; raised is by how much the senders counted up a
	// series.
	points  []storedPoint
	senders []*sender
	raised  map[uint64]float64
	// acts is what the issues went through, in the order of time.
	acts []act
	now  time.Time
	// meanwhile runs while a block is under way.
	meanwhile func()
	// forgetful worlds lie beyond the duplicate window: the history knows no id,
	// and no event is sent twice, so only tokens and offsets can save the count.
	forgetful  bool
	generation int32
	agents     *enrich.UserAgents

	// steps counts down to the death of the present process; negative never.
	steps int
	dead  bool
	kill  context.CancelFunc
	// orderly lives are asked to stop instead: the step fails because its context
	// ends, and the process still stores its last block.
	orderly bool
}

type storedRow struct {
	svc.EventRow
	block uint64
}

var errDead = fmt.Errorf("the process is dead: %w", svc.ErrFenced)

func newWorld(seed uint64, partitions int) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 1)), partitions: partitions, log: make([][]svc.LogRecord, partitions),
		sent: map[string]int{}, notes: map[string]bool{}, agents: enrich.NewUserAgents(2),
		decisions: map[string]svc.Entity{}, raised: map[uint64]float64{}, meanwhile: func() {},
	}
	for p := range partitions {
		w.committed = append(w.committed, svc.LogPosition{Partition: p})
	}
	return w
}

// step is one durable action that may not happen because the process dies.
func (w *world) step() error {
	if w.dead {
		return errDead
	}
	if w.steps == 0 {
		w.steps = -1
		w.kill()
		if w.orderly {
			return context.Canceled
		}
		w.dead = true
		return errDead
	}
	w.steps--
	return nil
}

// Commit writes one partition after the other, as the embedded broker does.
func (w *world) Commit(_ context.Context, generation int32, positions []svc.LogPosition) error {
	if generation != w.generation {
		return svc.ErrFenced
	}
	for _, i := range w.rng.Perm(len(positions)) {
		if err := w.step(); err != nil {
			return err
		}
		w.committed[positions[i].Partition] = positions[i]
	}
	w.meanwhile()
	return w.step()
}

type fakeBlock struct {
	rows        []svc.EventRow
	occurrences []svc.OccurrenceRow
	points      []svc.MetricRow
}

func (b *fakeBlock) Append(row *svc.EventRow) { b.rows = append(b.rows, *row) }
func (b *fakeBlock) AppendOccurrence(row *svc.OccurrenceRow) {
	b.occurrences = append(b.occurrences, *row)
}
func (b *fakeBlock) AppendMetric(row *svc.MetricRow) { b.points = append(b.points, *row) }
func (b *fakeBlock) Rows() int                       { return len(b.rows) + len(b.occurrences) + len(b.points) }
func (b *fakeBlock) Bytes() int                      { return 0 }
func (b *fakeBlock) Reset() {
	b.rows, b.occurrences, b.points = b.rows[:0], b.occurrences[:0], b.points[:0]
}

func (w *world) NewBlock() Block { return &fakeBlock{} }

// Insert stores one part per month, each once per token.
func (w *world) Insert(_ context.Context, token string, id uint64, b Block) error {
	parts := map[string][]svc.EventRow{}
	for _, row := range b.(*fakeBlock).rows {
		month := row.Ts.UTC().Format("200601")
		parts[month] = append(parts[month], row)
	}
	for month, rows := range parts {
		if err := w.step(); err != nil {
			return err
		}
		w.rows = w.part(w.rows, "rows "+token+month, id, rows)
		if err := w.step(); err != nil {
			return err
		}
		w.view = w.part(w.view, "view "+token+month, id, rows)
	}
	if err := w.insertOccurrences(token, id, b.(*fakeBlock).occurrences); err != nil {
		return err
	}
	if err := w.insertPoints(token, id, b.(*fakeBlock).points); err != nil {
		return err
	}
	w.meanwhile()
	return w.step()
}

// part appends rows to a table unless their token is known there.
func (w *world) part(table []storedRow, token string, id uint64, rows []svc.EventRow) []storedRow {
	if w.notes[token] {
		return table
	}
	w.notes[token] = true
	for _, row := range rows {
		table = append(table, storedRow{row, id})
	}
	return table
}

func (w *world) RecentIDs(_ context.Context, _ time.Time, except uint64, _ int, yield func(uint64, [2]uint64)) error {
	for _, row := range w.rows {
		if !w.forgetful && row.block != except {
			yield(protos.VisitorHash(row.EnvironmentNumber, row.Visitor()), protos.EventKey(row.EnvironmentNumber, row.ID))
		}
	}
	return w.step()
}

func (w *world) OpenSessions(_ context.Context, _ time.Time, except uint64, yield func(svc.OpenSession) bool) error {
	for _, session := range w.sessions(except) {
		if !yield(*session) {
			break
		}
	}
	return w.step()
}

// sessions folds the stored rows into sessions.
func (w *world) sessions(except uint64) map[string]*svc.OpenSession {
	found := map[string]*svc.OpenSession{}
	for _, row := range w.rows {
		if row.block == except {
			continue
		}
		ts := row.Ts.UnixMilli()
		session := found[row.SessionID]
		if session == nil {
			session = &svc.OpenSession{
				Session:     svc.Session{ID: row.SessionID, Started: row.SessionStartedMs, First: ts, Last: ts},
				Environment: row.EnvironmentNumber, DistinctID: row.DistinctID, AnonymousID: row.AnonymousID,
			}
			found[row.SessionID] = session
		}
		session.Add(svc.SessionStep{TsMs: ts, Pageview: svc.IsPageview(row.Name), Interactive: svc.IsInteractive(row.Name), EngagedMs: row.EngagedMs})
	}
	return found
}

// produce appends one record of a few events to the log; some events were sent
// before.
func (w *world) produce(now time.Time) {
	visitor := fmt.Sprintf("visitor-%d", w.rng.IntN(12))
	partition := protos.PartitionOf(1, visitor, w.partitions)
	var value []byte
	for range 1 + w.rng.IntN(4) {
		id := fmt.Sprintf("%s-%d", visitor, w.rng.IntN(400))
		if w.forgetful {
			id = fmt.Sprintf("%s-%d", visitor, len(w.sent))
		}
		name := []string{"page_view", "page_view", "click", "$identify"}[w.rng.IntN(4)]
		if _, again := w.sent[id]; again {
			name = "page_view"
		}
		at := now.Add(-time.Duration(w.rng.IntN(40*24*3600*1000)) * time.Millisecond)
		value, _ = protos.AppendRecord(value, &protos.Event{
			Environment: 1, Id: id, DistinctId: visitor, Name: name, TsMs: at.UnixMilli(), ReceivedMs: now.UnixMilli(),
		})
		w.sent[id]++
	}
	offset := int64(len(w.log[partition]))
	w.log[partition] = append(w.log[partition], svc.LogRecord{Partition: partition, Offset: offset, Time: now, Value: value})
}

// process is one life of a node over the world.
type process struct {
	w       *world
	sink    *Sink
	stream  *Stream
	intakes []*intake
	next    []int64
	// residents are the issues in memory.
	mu        sync.Mutex
	residents map[string]*issue
	watch     *Watch
	issues    *Issues
}

// Tell runs the intake at once, in place of its mailbox.
func (p *process) Tell(_, identity string, message any) error {
	intake := p.intakes[intakePartition(identity, p.w.partitions)]
	switch m := message.(type) {
	case *begin:
		intake.begin(m)
	case *fold:
		m.done <- intake.onFold(m)
	}
	return nil
}

type nowhere struct{}

func (nowhere) Locate(netip.Addr) (country, region, city string) { return "", "", "" }

func (w *world) start(t *testing.T, now time.Time) (*process, context.Context) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w.kill, w.dead = cancel, false
	w.generation++
	registry := prometheus.NewRegistry()
	logger := slog.New(slog.DiscardHandler)
	clock := func() time.Time { return now }
	w.now = now
	p := &process{w: w, next: make([]int64, w.partitions), residents: map[string]*issue{}, watch: &Watch{Store: w, Partitions: w.partitions}}
	p.issues = &Issues{Actors: p, Releases: w}
	w.meanwhile = func() {
		if w.rng.IntN(3) == 0 {
			p.change(ctx)
		}
	}
	p.sink = NewSink(SinkConfig{
		Store: w, Log: w, MaxRows: 1 << 20, Now: clock, Logger: logger, Metrics: NewSinkMetrics(registry),
		Watchers: &Watchers{}, Digests: &Digests{Actors: p, Logger: logger}, Watch: p.watch, Issues: p.issues,
		NewBlockID: func(time.Time) uint64 { return w.rng.Uint64()>>1 | 1 },
	})
	metrics := NewIntakeMetrics(registry)
	for partition := range w.partitions {
		p.intakes = append(p.intakes, &intake{
			partition: partition, agents: w.agents, locator: nowhere{}, blocks: p.sink, metrics: metrics, logger: logger,
		})
	}
	p.stream = NewStream(StreamConfig{
		Partitions: w.partitions, Ownership: &Ownership{}, Actors: p, Sink: p.sink, Log: w, History: w, Watch: p.watch,
		Evict: func(int) {}, Go: func(work func()) { work() }, Now: clock, Logger: logger,
	})
	return p, ctx
}

// live runs a process until it dies or has stored everything.
func (p *process) live(ctx context.Context, now time.Time, produce int) error {
	starts, err := p.stream.Assigned(ctx, svc.LogAssignment{Generation: p.w.generation, Partitions: append([]svc.LogPosition(nil), p.w.committed...)})
	if err != nil {
		return err
	}
	for partition, offset := range starts {
		p.next[partition] = offset
	}
	for !p.w.dead && ctx.Err() == nil {
		if produce > 0 {
			p.w.produce(now)
			p.w.produceError()
			p.w.produceMetrics()
			p.change(ctx)
			produce--
		}
		if err := p.deliver(ctx, p.w.rng.IntN(p.w.partitions)); err != nil {
			return err
		}
		if p.w.rng.IntN(6) == 0 {
			if err := p.sink.flush(ctx); err != nil {
				return err
			}
		}
		if produce == 0 && p.idle() {
			return p.sink.flush(ctx)
		}
	}
	return context.Canceled
}

// drain is the end of an orderly life: records still come in while the sink
// stores its last block.
func (p *process) drain(ctx context.Context) {
	for range 10 {
		if p.stream.generation == nil || !p.loaded() || p.deliver(ctx, p.w.rng.IntN(p.w.partitions)) != nil {
			break
		}
	}
	_ = p.sink.flush(ctx)
}

func (p *process) loaded() bool {
	select {
	case <-p.stream.generation.loaded:
		return true
	default:
		return false
	}
}

// deliver hands the next records of a partition to the stream. While a block is
// pending, only its own partitions are delivered: the stream would hold the
// others back.
func (p *process) deliver(ctx context.Context, partition int) error {
	g := p.stream.generation
	if last, belongs := g.lasts[partition]; len(g.lasts) > 0 && (!belongs || p.next[partition] > last) {
		return nil
	}
	pending := p.w.log[partition][p.next[partition]:]
	if len(pending) == 0 {
		return nil
	}
	batch := pending[:1+p.w.rng.IntN(min(5, len(pending)))]
	if last, belongs := g.lasts[partition]; belongs && len(g.lasts) > 1 {
		batch = batch[:min(int64(len(batch)), last+1-p.next[partition])]
	}
	if err := p.stream.Records(ctx, partition, batch, int64(len(p.w.log[partition]))); err != nil {
		return err
	}
	p.next[partition] += int64(len(batch))
	return nil
}

func (p *process) idle() bool {
	for partition, records := range p.w.log {
		if p.next[partition] < int64(len(records)) {
			return false
		}
	}
	return true
}

// TestEveryEventIsStoredOnceThroughCrashes kills the process before any of its
// durable steps, many times, and counts.
func TestEveryEventIsStoredOnceThroughCrashes(t *testing.T) {
	worlds := 300
	if testing.Short() {
		worlds = 40
	}
	for seed := range worlds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newWorld(uint64(seed), 1+seed%5)
			w.forgetful = seed%2 == 1
			now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			for range 12 {
				w.steps, w.orderly = w.rng.IntN(60), w.rng.IntN(3) == 0
				p, ctx := w.start(t, now)
				err := p.live(ctx, now, 20)
				if w.orderly && !w.dead {
					p.drain(t.Context())
				}
				if err != nil && !errors.Is(err, errDead) && !errors.Is(err, context.Canceled) {
					t.Fatalf("a life ended with %v", err)
				}
				now = now.Add(time.Minute)
			}
			w.steps = -1
			p, ctx := w.start(t, now)
			if err := p.live(ctx, now, 0); err != nil {
				t.Fatalf("the last life ended with %v", err)
			}
			w.check(t)
			w.checkIssues(t)
			w.checkMetrics(t)
		})
	}
}

// check compares the store with what was sent, and the sums of the deltas with
// the sessions that the rows show.
func (w *world) check(t *testing.T) {
	t.Helper()
	stored, viewed := map[string]int{}, map[string]int{}
	for _, row := range w.view {
		viewed[row.ID]++
	}
	var bounces int
	var duration int64
	for _, row := range w.rows {
		stored[row.ID]++
		bounces += int(row.Bounce)
		duration += row.DurationMs
	}
	for id := range w.sent {
		if stored[id] != 1 || viewed[id] != 1 {
			t.Errorf("event %s is stored %d times and seen by the view %d times", id, stored[id], viewed[id])
		}
	}
	if len(stored) != len(w.sent) {
		t.Errorf("%d events are stored, %d were sent", len(stored), len(w.sent))
	}
	var wantBounces int
	var wantDuration int64
	for _, session := range w.sessions(0) {
		wantDuration += session.DurationMs()
		if session.Pageviews == 1 && session.Interactive == 0 {
			wantBounces++
		}
	}
	if bounces != wantBounces || duration != wantDuration {
		t.Errorf("the deltas sum to %d bounces and %d ms, the sessions have %d and %d", bounces, duration, wantBounces, wantDuration)
	}
	for _, position := range w.committed {
		if position.Metadata != "" || position.Offset != int64(len(w.log[position.Partition])) {
			t.Errorf("partition %d ends at %+v, the log at %d", position.Partition, position, len(w.log[position.Partition]))
		}
	}
}
