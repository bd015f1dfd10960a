package issues

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-faster/city"
	"github.com/prometheus/client_golang/prometheus"

	"svc/actors/alerting"
	"svc/actors/enrich"
	"svc/actors/live"
	"svc/actors/people"
	"svc/actors/pipeline"
	"svc/cluster"
	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/domain/occurrence"
	"svc/protos"
)

// world is a log with its group coordinator and a store, which all survive, and nodes that do not. Everything durable
// happens in small steps that take a random time, so that the steps of the nodes interleave in every order. At any of
// them a node may die, or stand still for longer than its session.
type world struct {
	mu         sync.Mutex
	rng        *rand.Rand
	partitions int // of a shard
	shards     int
	log        [][]event.LogRecord
	sent       map[string]int
	committed  []event.LogPosition
	rows       []storedRow
	view       []storedRow     // the rows of a materialized view
	notes      map[string]bool // tokens and months with a stored part
	// forgetful worlds are past the duplicate window: the history knows no id, and no event is sent twice, so only
	// tokens and offsets can preserve the count.
	forgetful bool
	agents    *enrich.UserAgents
	// occurrences are stored like rows; decisions are the issues' entities.
	occurrences []storedOccurrence
	decisions   map[string]domain.Entity
	// alerts holds the entities of the alerting actor. fresh is the number of issues that occurred in addition to the
	// ones that members change.
	alerts map[string]domain.Entity
	fresh  int
	// asked is when patches were requested.
	asked map[string]time.Time
	// noted holds the regressions, by block and issue, that were confirmed to their issues as received by the rules.
	noted map[[2]uint64]bool
	// points are stored like rows, and rollups are the rows of a view of them; raised is the sum by which the senders
	// raised a series.
	points  []storedPoint
	rollups []storedPoint
	senders []*sender
	raised  map[uint64]float64
	// acts lists the changes of the issues; last is the time of the last one.
	acts []*act
	last time.Time
	// owners are the addresses of the nodes that own the partitions.
	owners []string
	nodes  map[string]*process

	// generation is the current one; members are its nodes.
	generation int32
	members    map[*process]bool
	// away says that the store of shard 0 does not answer, aside that the store of another shard does not.
	away, aside bool
	// spoiled makes the entities that actors load undecodable, so that the actors do not answer.
	spoiled bool
	// outboxNotes are the notes for actors. letters are the dead letters by id. Poison cannot be folded, stored or
	// decoded: poisoned counts it by its expected end.
	outboxNotes map[string]domain.Entity
	letters     map[string]ingest.DeadLetter
	poisoned    map[string]int
	// skipped counts the entities that snapshots skipped, by owner; skipping guards it.
	skipping sync.Mutex
	skipped  map[string]int
	// heard counts the calls of the toy listener for each stored event; calls lists its calls.
	heard map[string]int
	calls []string
	// slow is how long it takes to read the ids of the recent past.
	slow   time.Duration
	people worldPeople
	// stale counts the commits that were refused because they came from an ended generation.
	stale int
	// claimed holds the claims of the partitions. refused counts the writes of processes without the claim. overtaken
	// counts the writes that succeeded although their writer did not know the last ones.
	claimed            map[int]*worldClaim
	refused, overtaken int
	// places are noted in the stores: the shards of environments that were moved.
	places map[uint64]int
}

type storedRow struct {
	event.Row
	block uint64
	shard int // of the store that has it
}

var errDead = fmt.Errorf("the process is dead: %w", domain.ErrFenced)

var errStoreAway = errors.New("the store is away")

func newWorld(seed uint64, partitions, shards int) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 1)), partitions: partitions, shards: shards, log: make([][]event.LogRecord, shards*partitions),
		sent: map[string]int{}, heard: map[string]int{}, notes: map[string]bool{}, agents: enrich.NewUserAgents(2), members: map[*process]bool{},
		claimed: map[int]*worldClaim{}, places: map[uint64]int{}, decisions: map[string]domain.Entity{}, alerts: map[string]domain.Entity{}, noted: map[[2]uint64]bool{}, asked: map[string]time.Time{}, outboxNotes: map[string]domain.Entity{}, raised: map[uint64]float64{}, letters: map[string]ingest.DeadLetter{}, poisoned: map[string]int{}, skipped: map[string]int{}, people: newWorldPeople(), owners: make([]string, partitions), nodes: map[string]*process{},
	}
	for p := range w.log {
		w.committed = append(w.committed, event.LogPosition{Partition: p})
	}
	return w
}

func (w *world) setAway(away bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

func (w *world) setAside(aside bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aside = aside
}

func (w *world) shape() domain.LogShape {
	return domain.LogShape{Partitions: w.partitions, Shards: w.shards}
}

// shardEnvironment is an environment that lives on shard 1 if there is one.
const shardEnvironment = 2

func (w *world) spoil(spoiled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spoiled = spoiled
}

// n returns a random number below limit.
func (w *world) n(limit int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(limit)
}

type fakeBlock struct {
	shard       int
	rows        []event.Row
	occurrences []occurrence.Row
	points      []metric.Row
}

func (b *fakeBlock) Add(rows *ingest.Rows) {
	b.rows = append(b.rows, rows.Events...)
	b.occurrences = append(b.occurrences, rows.Occurrences...)
	b.points = append(b.points, rows.Points...)
}
func (b *fakeBlock) Rows() int   { return len(b.rows) + len(b.occurrences) + len(b.points) }
func (b *fakeBlock) Bytes() int  { return 0 }
func (b *fakeBlock) Counts() int { return 0 }
func (b *fakeBlock) Without(kind ingest.LetterKind, rows []int) {
	switch kind {
	case ingest.LetterEvent:
		b.rows = without(b.rows, rows)
	case ingest.LetterError:
		b.occurrences = without(b.occurrences, rows)
	case ingest.LetterPoint, ingest.LetterRecord:
		b.points = without(b.points, rows)
	}
}

func without[Row any](all []Row, places []int) (rest []Row) {
	for n := range all {
		if !slices.Contains(places, n) {
			rest = append(rest, all[n])
		}
	}
	return rest
}

func (b *fakeBlock) Reset() {
	b.rows, b.occurrences, b.points = b.rows[:0], b.occurrences[:0], b.points[:0]
}

// part appends rows to a table of a shard unless their token is known there.
func (w *world) part(table []storedRow, token string, id uint64, rows []event.Row, shard int) []storedRow {
	token = fmt.Sprint(token, " on ", shard)
	if w.notes[token] {
		return table
	}
	w.notes[token] = true
	for _, row := range rows {
		table = append(table, storedRow{row, id, shard})
	}
	return table
}

// sessions returns the state of its session in each stored row, as a node finds the rows.
func (p *process) sessions(except uint64) []event.OpenSession {
	var found []event.OpenSession
	for _, row := range p.w.rows {
		if row.block == except || !p.finds(&row) {
			continue
		}
		found = append(found, event.OpenSession{
			Session: event.Session{
				ID: row.SessionID, Started: row.SessionStartedMs, First: row.SessionStartedMs - row.Session.BeforeMs, Last: row.Ts.UnixMilli() + row.Session.AfterMs,
				EngagedMs: row.Session.EngagedMs, Deeds: row.Session.Deeds,
			},
			SessionName: event.SessionName{Thread: row.Thread, Bot: row.IsBot, Number: row.SessionNumber},
			HeardMs:     row.ReceivedAt.UnixMilli(), Origin: event.Origin{Attribution: row.Attribution, Referrer: row.Referrer},
			Counted: cmp.Or(row.Guest, numberOf(row.Visitor())), Known: numberOf(row.DistinctID), Device: numberOf(row.AnonymousID),
		})
	}
	return found
}

// numberOf is the number of an id, 0 for none.
func numberOf(id string) uint64 {
	if id == "" {
		return 0
	}
	return city.CH64([]byte(id))
}

// sessionFor is the session that a client gives an event, which is the same whenever it sends the event.
func sessionFor(visitor, event string) string {
	n := numberOf(event)
	return []string{"", "", visitor, "shared", fmt.Sprint("c", n/5%60)}[n%5]
}

// shown folds the stored rows into sessions by the events that the rows show.
func (w *world) shown() map[string]*event.Session {
	found := map[string]*event.Session{}
	for _, row := range w.rows {
		if row.DistinctID == "mallory" {
			continue
		}
		ts, key := row.Ts.UnixMilli(), fmt.Sprint(row.DistinctID, row.IsBot, row.SessionID)
		session := found[key]
		if session == nil {
			session = &event.Session{First: math.MaxInt64, Last: ts}
			found[key] = session
		}
		session.Add(event.SessionStep{TsMs: ts, Pageview: event.IsPageview(row.Name), Interactive: event.IsInteractive(row.Name), Identity: event.IsIdentity(row.Name), EngagedMs: row.EngagedMs})
	}
	maps.DeleteFunc(found, func(_ string, session *event.Session) bool { return session.First == math.MaxInt64 })
	return found
}

// produce appends one record of a few events to the log; some events were sent
// before.
func (w *world) produce(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.produceOf(1, now)
	if w.shards > 1 {
		w.produceOf(shardEnvironment, now)
	}
}

// produceOf appends a record of an environment; the caller holds the lock.
func (w *world) produceOf(environment uint64, now time.Time) {
	visitor := fmt.Sprintf("visitor-%d-%d", environment, w.rng.IntN(12))
	values := map[int][]byte{}
	for range 1 + w.rng.IntN(4) {
		id := fmt.Sprint(w.rng.IntN(400)) // other visitors send the same id
		if w.forgetful {
			id = fmt.Sprint(len(w.sent))
		}
		name := []string{"page_view", "page_view", "click", "$identify"}[w.rng.IntN(4)]
		event := visitor + " " + id
		if _, again := w.sent[event]; again {
			name = "page_view"
		}
		at := now.Add(-time.Duration(w.rng.IntN(40*24*3600*1000)) * time.Millisecond)
		session := sessionFor(visitor, event)
		partition := w.shape().Of(environment, protos.PartitionOfThread(protos.Thread(environment, session, "", visitor), w.partitions))
		values[partition], _ = protos.AppendRecord(values[partition], &protos.Event{
			Environment: environment, Id: id, DistinctId: visitor, Name: name, TsMs: at.UnixMilli(), ReceivedMs: now.UnixMilli(),
			SessionId: session, EngagedMs: int64(w.rng.IntN(3) / 2 * 4000),
			Url:       []string{"https://acme.example/", "https://acme.example/?utm_source=news&gclid=7", "https://acme.example/?utm_campaign=" + id}[w.rng.IntN(3)],
			Referrer:  []string{"", "https://acme.example/before", "https://www.google.com/"}[w.rng.IntN(3)],
			UserAgent: []string{"", "", "", "curl/8.0"}[w.rng.IntN(4)],
		})
		w.sent[event]++
	}
	for partition, value := range values {
		w.log[partition] = append(w.log[partition], event.LogRecord{Partition: partition, Offset: int64(len(w.log[partition])), Time: now, Value: value})
	}
}

// Poison items: the store refuses rows of poisonName, folding panics at the other address, and a record of the bytes
// does not decode.
const (
	poisonName    = "poison"
	poisonAddress = "203.0.113.66"
	poisonBytes   = "\xff\xff"
)

// producePoison appends a record with one poison item and other items. It belongs to an environment and a visitor of
// its own, so that its sessions are not counted.
func (w *world) producePoison(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	partition := w.shape().Of(2, protos.PartitionOf(2, "mallory", w.partitions))
	id := fmt.Sprintf("poison-%d", len(w.poisoned))
	e := &protos.Event{Environment: 2, Id: id, DistinctId: "mallory", Name: "$identify", TsMs: now.UnixMilli(), ReceivedMs: now.UnixMilli()}
	var value []byte
	switch kind := w.rng.IntN(4); kind {
	case 0:
		id, value = fmt.Sprintf("record-%d-%d", partition, len(w.log[partition])), []byte(poisonBytes)
	case 1:
		number := occurrence.IssueNumber(2, id)
		partition = w.shape().Of(2, protos.PartitionOfIssue(number, w.partitions))
		value, _ = protos.AppendOccurrence(nil, &protos.Occurrence{
			Environment: 2, Id: id, Issue: number, Fingerprint: id, Name: poisonName, TsMs: now.UnixMilli(), ReceivedMs: now.UnixMilli(),
		})
	default:
		if e.Name = poisonName; kind == 2 {
			e.Name, e.Ip = "click", poisonAddress
		}
		value, _ = protos.AppendRecord(nil, e)
		beside := &protos.Event{Environment: 2, Id: "beside-" + id, DistinctId: "mallory", Name: "$identify", TsMs: now.UnixMilli(), ReceivedMs: now.UnixMilli()}
		value, _ = protos.AppendRecord(value, beside)
		w.sent["mallory "+beside.Id]++
	}
	w.poisoned[id]++
	w.log[partition] = append(w.log[partition], event.LogRecord{Partition: partition, Offset: int64(len(w.log[partition])), Time: now, Value: value})
}

// checkPoison compares the dead letters with the poison that was sent.
func (w *world) checkPoison(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	parked := map[string]int{}
	for _, letter := range w.letters {
		var record protos.Record
		switch {
		case letter.Kind == ingest.LetterRecord:
			parked[fmt.Sprintf("record-%d-%d", letter.Partition, letter.Offset)]++
		case record.UnmarshalVTUnsafe(letter.Payload) != nil || len(record.Events)+len(record.Occurrences) != 1 || letter.Environment != 2:
			t.Errorf("the letter %+v holds no item of its sender", letter)
		case len(record.Events) == 1:
			parked[record.Events[0].Id]++
		default:
			parked[record.Occurrences[0].Id]++
		}
	}
	for id := range w.poisoned {
		if parked[id] != 1 {
			t.Errorf("%s is parked %d times", id, parked[id])
		}
	}
	if rule, issue := w.skipped[alerting.KindAlerting+"/mallory/shop"], w.skipped[kindIssue+"/666"]; rule == 0 || issue == 0 || len(w.skipped) != 2 {
		t.Errorf("snapshots left out %v, want a rule and an issue of the stranger", w.skipped)
	}
	if len(parked) != len(w.poisoned) {
		t.Errorf("%d items are parked, %d were poison", len(parked), len(w.poisoned))
	}
}

// Sift finds the rows that the store refuses.
func (p *process) Sift(_ context.Context, _ uint64, b pipeline.Block) (out []ingest.RefusedRow, _ error) {
	if err := p.step(); err != nil {
		return nil, err
	}
	defer p.w.mu.Unlock()
	if p.w.away {
		return nil, errStoreAway
	}
	for n, row := range b.(*fakeBlock).rows {
		if row.Name == poisonName {
			out = append(out, ingest.RefusedRow{Kind: ingest.LetterEvent, Row: n, Reason: "poison"})
		}
	}
	for n, row := range b.(*fakeBlock).occurrences {
		if row.Name == poisonName {
			out = append(out, ingest.RefusedRow{Kind: ingest.LetterError, Row: n, Reason: "poison"})
		}
	}
	return out, nil
}

// CountRows counts the stored rows of a block.
func (p *process) CountRows(_ context.Context, id uint64, _ pipeline.Block) (stored int, _ error) {
	if err := p.step(); err != nil {
		return 0, err
	}
	defer p.w.mu.Unlock()
	for _, row := range p.w.rows {
		if row.block == id && p.finds(&row) {
			stored++
		}
	}
	for _, row := range p.w.occurrences {
		if row.block == id {
			stored++
		}
	}
	for _, row := range p.w.points {
		if row.block == id {
			stored++
		}
	}
	return stored, nil
}

// Park stores dead letters.
func (p *process) Park(_ context.Context, letters []ingest.DeadLetter) error {
	if err := p.step(); err != nil {
		return err
	}
	away := p.w.away
	for _, letter := range letters {
		if !away {
			p.w.letters[letter.ID()] = letter
		}
	}
	p.w.mu.Unlock()
	if away {
		return errStoreAway
	}
	return p.done()
}

// process is one life of a node in the world.
type process struct {
	w       *world
	sinks   *pipeline.Sinks
	metrics *pipeline.SinkMetrics
	stream  *pipeline.Stream
	intakes []*pipeline.Intake
	mail    chan mail // the messages of the intakes, one after another
	// cluster hosts the issues; watch and issues belong to the node.
	name    string
	cluster *cluster.Cluster
	claim   *cluster.Claims
	answer  func(context.Context, *protos.Call) (*protos.Answer, error)
	watch   *ResolvedSet
	issues  *Issues
	book    *alerting.RuleIndex
	outbox  *pipeline.Outbox
	kill    context.CancelFunc

	// The world's mutex guards the rest. steps counts down to the node's fate; a negative number means never.
	steps  int
	pause  time.Duration // the fate is a pause of this length, zero death
	dead   bool
	paused bool
	taken  map[int]*worldClaim // the claims that the node took last
	places map[uint64]int      // the shards of moved environments, as far as the node knows
	// end ends the node's current generation; ended is closed when it has ended.
	end   context.CancelFunc
	ended chan struct{}
}

// step is one durable action, which does not happen if the node dies. Afterwards the caller holds the world's mutex,
// unless an error is returned.
func (p *process) step() error {
	w := p.w
	w.mu.Lock()
	fate := p.steps == 0
	p.steps--
	wait := time.Duration(w.rng.IntN(2_000_000)) // up to 2 ms
	still := fate && p.pause > 0
	if still {
		p.paused, wait = true, wait+p.pause
	}
	if fate && p.pause == 0 {
		p.dead = true
		p.kill()
	}
	w.mu.Unlock()
	time.Sleep(wait)
	w.mu.Lock()
	if still {
		p.paused = false
	}
	if p.dead {
		w.mu.Unlock()
		return errDead
	}
	return nil
}

// Commit writes one partition after the other, like the embedded broker if it dies in between. The coordinator refuses
// positions of another generation.
func (p *process) Commit(_ context.Context, generation int32, positions []event.LogPosition) error {
	for _, i := range rand.Perm(len(positions)) {
		if err := p.step(); err != nil {
			return err
		}
		if generation != p.w.generation || !p.w.members[p] {
			p.w.stale++
			p.w.mu.Unlock()
			return domain.ErrFenced
		}
		p.w.committed[positions[i].Partition] = positions[i]
		p.w.mu.Unlock()
	}
	return p.done()
}

// done is the step that returns an answer.
func (p *process) done() error {
	if err := p.step(); err != nil {
		return err
	}
	p.w.mu.Unlock()
	return nil
}

func (p *process) Committed(_ context.Context, partitions []int) ([]event.LogPosition, error) {
	if err := p.step(); err != nil {
		return nil, err
	}
	defer p.w.mu.Unlock()
	found := make([]event.LogPosition, 0, len(partitions))
	for _, partition := range partitions {
		found = append(found, p.w.committed[partition])
	}
	return found, nil
}

func (p *process) Read(_ context.Context, partition int, first, last int64) ([]event.LogRecord, error) {
	if err := p.step(); err != nil {
		return nil, err
	}
	defer p.w.mu.Unlock()
	return p.w.log[partition][first : last+1], nil
}

// Insert stores one part per month, each once per token. It does not check the ownership, like any store.
func (p *process) Insert(_ context.Context, token string, id uint64, b pipeline.Block) error {
	type part struct {
		month string
		shard int
	}
	parts := map[part][]event.Row{}
	p.w.mu.Lock()
	for _, row := range b.(*fakeBlock).rows {
		at := part{row.Ts.UTC().Format("200601"), p.shardOf(row.EnvironmentNumber)}
		parts[at] = append(parts[at], row)
	}
	p.w.mu.Unlock()
	for at, rows := range parts {
		month := at.month
		if err := p.step(); err != nil {
			return err
		}
		if p.w.missing(at.shard) {
			p.w.mu.Unlock()
			return errStoreAway
		}
		if slices.ContainsFunc(rows, func(row event.Row) bool { return row.Name == poisonName }) {
			p.w.mu.Unlock()
			return ingest.ErrRefused // other months may be stored
		}
		p.w.rows = p.w.part(p.w.rows, "rows "+token+month, id, rows, at.shard)
		p.w.mu.Unlock()
		if err := p.step(); err != nil {
			return err
		}
		p.w.view = p.w.part(p.w.view, "view "+token+month, id, rows, at.shard)
		p.w.mu.Unlock()
	}
	if err := p.insertOccurrences(token, id, b.(*fakeBlock).occurrences); err != nil {
		return err
	}
	if err := p.insertPoints(token, id, b.(*fakeBlock).points); err != nil {
		return err
	}
	return p.done()
}

func (p *process) RecentIDs(ctx context.Context, _ time.Time, except uint64, _ int, yield func(uint64, [2]uint64)) error {
	select {
	case <-time.After(p.w.slow):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := p.step(); err != nil {
		return err
	}
	defer p.w.mu.Unlock()
	for _, row := range p.w.rows {
		if !p.w.forgetful && row.block != except && p.finds(&row) {
			yield(row.Thread, protos.EventKey(row.EnvironmentNumber, row.Thread, row.Visitor(), row.ID))
		}
	}
	return nil
}

func (p *process) Sessions(_ context.Context, q event.SessionsQuery, open func(event.OpenSession), _ func(event.SessionName)) error {
	if err := p.step(); err != nil {
		return err
	}
	defer p.w.mu.Unlock()
	for _, session := range p.sessions(q.ExceptBlock) {
		open(session)
	}
	return nil
}

// mail is a message for an intake.
type mail struct {
	partition int
	message   any
}

// Tell puts a message into the mailbox; it may wait there for a while.
func (p *process) Tell(_, identity string, message any) error {
	partition, err := strconv.Atoi(identity)
	if err == nil { // a message for an intake
		p.mail <- mail{partition, message}
	}
	return nil
}

// receive makes the intakes take their messages until ctx ends. Now and then they are busy for longer than their caller
// waits.
func (p *process) receive(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-p.mail:
			if p.w.n(4) == 0 {
				time.Sleep(time.Duration(p.w.n(5_000_000)))
			}
			p.intakes[next.partition].Handle(next.message)
		}
	}
}

type nowhere struct{}

func (nowhere) Locate(ip netip.Addr) (country, region, city string) {
	if ip.String() == poisonAddress {
		panic("poison")
	}
	return "", "", ""
}

// start begins the life of a node: its sink runs until it dies or is stopped.
func (w *world) start(t *testing.T) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	registry := prometheus.NewRegistry()
	logger := slog.New(slog.DiscardHandler)
	p := &process{w: w, kill: cancel, mail: make(chan mail, 4096), steps: -1, taken: map[int]*worldClaim{}, places: map[uint64]int{}, name: fmt.Sprintf("node-%d", len(w.nodes))}
	w.nodes[p.name] = p
	ownership := &pipeline.Ownership{Lease: p}
	p.hostIssues(t, ctx, ownership)
	p.metrics = pipeline.NewSinkMetrics(registry)
	p.outbox = pipeline.NewOutbox(tellingStore{p}, p.cluster.Owns, logger)
	p.sinks = pipeline.NewSinks(pipeline.SinkConfig{
		Log: p, Records: p, MaxRows: 1 << 20, Now: time.Now, Logger: logger, Metrics: p.metrics,
		Interval: 5 * time.Millisecond, Outbox: p.outbox,
		Listeners: []pipeline.Listener{
			&Listener{
				Resolved: p.watch, Issues: p.issues, Totals: p, Rules: p.book, Alerts: &alerting.Alerts{Actors: p.cluster}, Outbox: p.outbox, Logger: logger,
				Continuation: &Continuation{Former: p, Totals: p, Issues: p.issues, Now: time.Now, Logger: logger},
			},
			&alerting.CountListener{Rules: p.book, Alerts: &alerting.Alerts{Actors: p.cluster}, Now: time.Now, Logger: logger},
			&live.Listener{Subscriptions: &live.Subscriptions{}, Updates: &live.Updates{Actors: p, Logger: logger}, Logger: logger},
			&people.AliasListener{Store: uniter{p}},
			&tieListener{w: w},
			&toyListener{p: p},
		},
		NewBlockID: func(now time.Time) uint64 { return pipeline.NewBlockNumber(now, rand.Uint32()) },
	}, w.shape(), func(shard int) pipeline.BlockStore { return shardStore{p, shard} })
	metrics := pipeline.NewIntakeMetrics(registry)
	intakes := pipeline.IntakeConfig{Locator: func() pipeline.Locator { return nowhere{} }, Metrics: metrics, Logger: logger}
	for partition := range w.log {
		p.intakes = append(p.intakes, pipeline.NewIntake(intakes, partition, p.sinks))
	}
	p.stream = pipeline.NewStream(pipeline.StreamConfig{
		Shape: w.shape(), Ownership: ownership, Actors: p, Sinks: p.sinks, Log: p, Intakes: intakes,
		History: func(shard int) pipeline.History { return shardStore{p, shard} },
		Evict: func(partition int) {
			p.cluster.Evict(partition)
			_ = p.Tell("", strconv.Itoa(partition), &cluster.Released{})
		},
		Claims: p.claim, Moves: placing{p}, Now: time.Now, Logger: logger,
	})
	go func() { _ = p.sinks.Run(ctx) }()
	go func() { _ = p.outbox.Run(ctx) }()
	go p.receive(ctx)
	go func() {
		_ = (&alerting.OpenBlockPublisher{Rules: p.book, Actors: p.cluster, Sinks: p.sinks, Logger: logger}).Run(ctx)
	}()
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if p.end != nil {
			p.end()
		}
	})
	return p
}

// live takes part in one generation until it ends, as the log's consumer does.
func (p *process) live(ctx context.Context, generation int32, owned []int, ended chan struct{}) {
	defer close(ended)
	defer p.stream.Revoked(generation)
	positions, err := p.Committed(ctx, owned)
	if err != nil {
		return
	}
	starts, err := p.stream.Assigned(ctx, event.LogAssignment{Generation: generation, Partitions: positions})
	for err != nil {
		if time.Sleep(time.Millisecond); ctx.Err() != nil {
			return
		}
		if positions, err = p.Committed(ctx, owned); err == nil {
			starts, err = p.stream.Assigned(ctx, event.LogAssignment{Generation: generation, Partitions: positions})
		}
	}
	failed, fail := context.WithCancel(ctx)
	defer fail()
	var readers sync.WaitGroup
	for partition, start := range starts {
		readers.Go(func() {
			if p.read(failed, partition, start) != nil {
				fail()
			}
		})
	}
	readers.Wait()
	last, done := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer done()
	p.stream.Ending(last, generation)
}

// read delivers the records of a partition until ctx ends.
func (p *process) read(ctx context.Context, partition int, next int64) error {
	for ctx.Err() == nil {
		p.w.mu.Lock()
		rest := p.w.log[partition][next:]
		end := int64(len(p.w.log[partition]))
		if len(rest) > 0 {
			rest = rest[:1+p.w.rng.IntN(min(5, len(rest)))]
		}
		p.w.mu.Unlock()
		if len(rest) > 0 {
			if err := p.stream.Records(ctx, partition, rest, end); err != nil {
				return err
			}
			next += int64(len(rest))
			time.Sleep(time.Duration(p.w.n(3_000_000)))
		} else {
			time.Sleep(time.Duration(10_000_000 + p.w.n(10_000_000)))
		}
	}
	return nil
}

// rebalance ends the generation and begins the next one, in which the given nodes own everything. It does not wait for
// nodes that are dead or stand still.
func (w *world) rebalance(nodes []*process) {
	w.mu.Lock()
	var waiting []chan struct{}
	for p := range w.members {
		if p.end != nil {
			p.end()
		}
		if !p.dead && !p.paused {
			waiting = append(waiting, p.ended)
		}
	}
	w.mu.Unlock()
	limit := time.After(10 * time.Second)
	for _, ended := range waiting {
		select {
		case <-ended:
		case <-limit:
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.generation++
	clear(w.members)
	shares := make([][]int, len(nodes))
	for partition := range w.partitions {
		at := w.rng.IntN(len(nodes))
		if w.generation%3 != 0 {
			at = partition % len(nodes) // it stays in place as long as the set of nodes does not change
		}
		for shard := range w.shards {
			shares[at] = append(shares[at], shard*w.partitions+partition)
		}
		w.owners[partition] = nodes[at].name
	}
	for i, p := range nodes {
		w.members[p] = true
		ctx, cancel := context.WithCancel(context.Background())
		before := p.ended
		p.end, p.ended = cancel, make(chan struct{})
		generation, ended := w.generation, p.ended
		go func() {
			if before != nil {
				<-before
			}
			p.live(ctx, generation, shares[i], ended)
		}()
	}
}

// leave ends the life of a node after its generation ended in order.
func (p *process) leave() {
	p.kill()
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.dead = true
}

// alive returns the nodes that take part in a rebalance, and starts new ones in place of dead ones.
func (w *world) alive(t *testing.T, nodes []*process) []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, p := range nodes {
		if p.dead {
			nodes[i] = w.start(t)
		}
	}
	var able []*process
	for _, p := range nodes {
		if !p.paused {
			able = append(able, p)
		}
	}
	return able
}

// worlds is the number of random histories of the simulation; 200 by hand.
var worlds = flag.Int("worlds", 40, "random histories of the simulation of faults")

// TestEveryEventIsStoredOnceThroughFaults lets nodes die, stand still, leave and join at any of their durable steps,
// many times, and counts the stored events.
func TestEveryEventIsStoredOnceThroughFaults(t *testing.T) {
	for seed := range *worlds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { faults(t, uint64(seed)) })
		})
	}
}

func faults(t *testing.T, seed uint64) {
	w := newWorld(seed, 1+int(seed)%7, 1+int(seed)%3/2)
	for _, rule := range worldRules() {
		payload, _ := json.Marshal(rule) // a struct of texts and numbers
		w.alerts[rule.ID] = domain.Entity{Owner: alerting.KindAlerting + "/" + web().String(), Kind: alerting.KindRule, ID: rule.ID, Payload: payload}
	}
	w.forgetful = seed%2 == 1
	if seed%3 == 0 { // generations end while blocks are completed
		w.slow = time.Duration(w.rng.IntN(400)) * time.Millisecond
	}
	w.storeFormer()
	nodes := make([]*process, 1+int(seed/2)%4)
	for i := range nodes {
		nodes[i] = w.start(t)
	}
	w.rebalance(nodes)
	var members sync.WaitGroup
	for range 12 {
		w.doom(nodes, 60)
		for range 20 {
			w.produce(time.Now())
			w.produceError()
			w.produceNews()
			w.produceContinued()
			w.produceMetrics()
			if w.n(4) == 0 {
				w.producePoison(time.Now())
			}
			if p := nodes[w.n(len(nodes))]; w.n(2) == 0 {
				members.Go(p.change)
				members.Go(p.merge)
			}
			w.produceIdentity(time.Now())
			time.Sleep(time.Duration(w.n(10_000_000)))
		}
		w.setAway(w.n(3) == 0)
		w.setAside(w.n(2) == 0)
		w.spoil(w.n(3) == 0)
		w.turn(t, nodes)
		w.setAway(false)
		w.setAside(w.n(3) == 0)
		time.Sleep(time.Duration(w.n(200_000_000)))
	}
	for _, p := range nodes {
		w.mu.Lock()
		p.steps = -1
		w.mu.Unlock()
	}
	members.Wait()
	w.setAside(false)
	w.spoil(false)
	time.Sleep(time.Minute) // nodes that stand still resume
	w.settle(t, nodes)
	w.check(t)
	w.checkIssues(t)
	w.checkNews(t)
	w.checkContinued(t)
	w.checkCounts(t, nodes)
	w.checkMetrics(t)
	w.checkPoison(t)
	w.checkListener(t)
	w.checkPeople(t)
	for _, p := range nodes {
		if uneven := countOf(t, p.metrics.Uneven); uneven != 0 {
			t.Errorf("%v completed blocks have another number of rows than they were made of", uneven)
		}
		p.kill()
	}
	synctest.Wait()
	time.Sleep(time.Minute)
}

// doom draws the number of steps, up to a limit, after which each node dies, stands still, or neither.
func (w *world) doom(nodes []*process, limit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range nodes {
		switch p.steps = w.rng.IntN(limit); w.rng.IntN(4) {
		case 0:
			p.steps = -1
		case 1:
			p.pause = 0
		case 2:
			p.pause = 20 * time.Second
		case 3:
			p.pause = time.Duration(w.rng.IntN(200)) * time.Millisecond
		}
	}
}

// turn begins the next generation of the nodes that are able, now and then without one of them.
func (w *world) turn(t *testing.T, nodes []*process) {
	able := w.alive(t, nodes)
	var leaving *process
	if len(able) > 1 && w.n(3) == 0 {
		leaving, able = able[0], able[1:]
	}
	if len(able) > 0 {
		w.rebalance(able)
	}
	if leaving != nil {
		leaving.leave()
	}
}

// settle waits until everything is stored and committed and all actors know it. That is longer than the pause of an
// outbox between two attempts at an actor. A node that stood still may leave a note about a block that others complete,
// after they have looked: the next generation delivers it.
func (w *world) settle(t *testing.T, nodes []*process) {
	t.Helper()
	for range 2 {
		w.rebalance(w.alive(t, nodes))
		for range 1000 {
			if time.Sleep(100 * time.Millisecond); w.settled() {
				return
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, entity := range w.outboxNotes {
		if !entity.Deleted {
			t.Errorf("nobody was told what the note %s says: %s", name, entity.Payload)
		}
	}
}

// settled reports whether everything is stored and committed.
func (w *world) settled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, position := range w.committed {
		if position.Metadata != "" || position.Offset != int64(len(w.log[position.Partition])) {
			return false
		}
	}
	for _, entity := range w.outboxNotes {
		if !entity.Deleted {
			return false
		}
	}
	return true
}

// shardStore is the store of a shard.
type shardStore struct {
	*process
	shard int
}

// missing says that the store of a shard does not answer; the caller holds the lock.
func (w *world) missing(shard int) bool { return shard == 0 && w.away || shard > 0 && w.aside }

func (s shardStore) NewBlock() pipeline.Block { return &fakeBlock{shard: s.shard} }

func (s shardStore) RecentIDs(ctx context.Context, since time.Time, except uint64, limit int, yield func(uint64, [2]uint64)) error {
	s.w.mu.Lock()
	missing := s.w.missing(s.shard)
	s.w.mu.Unlock()
	if missing {
		return errStoreAway
	}
	return s.process.RecentIDs(ctx, since, except, limit, yield)
}

// tellingStore stores the notes for actors.
type tellingStore struct{ *process }

func (s tellingStore) Put(_ context.Context, entities []domain.Entity, _ []domain.Wakeup, _ domain.Trail) error {
	if err := s.step(); err != nil {
		return err
	}
	away := s.w.away
	for _, entity := range entities {
		key := entity.Owner + " " + entity.ID
		if !away && entity.Version.Number() > s.w.outboxNotes[key].Version.Number() {
			s.w.outboxNotes[key] = entity
		}
	}
	s.w.mu.Unlock()
	if away {
		return errStoreAway
	}
	return s.done()
}

func (s tellingStore) LoadKind(context.Context, string) (out []domain.Entity, _ error) {
	if err := s.step(); err != nil {
		return nil, err
	}
	defer s.w.mu.Unlock()
	if s.w.away {
		return nil, errStoreAway
	}
	for _, entity := range s.w.outboxNotes {
		if !entity.Deleted {
			out = append(out, entity)
		}
	}
	return out, nil
}

// check compares the store with the sent events, and the sums of the deltas with the sessions that the rows show.
func (w *world) check(t *testing.T) {
	t.Helper()
	stored, viewed, seen := map[string]int{}, map[string]int{}, map[string]event.Row{}
	for _, row := range w.view {
		viewed[row.DistinctID+" "+row.ID]++
		seen[row.DistinctID+" "+row.ID] = row.Row
	}
	var bounces int
	var duration int64
	for _, row := range w.rows {
		stored[row.DistinctID+" "+row.ID]++
		if row.DistinctID == "mallory" {
			continue
		}
		if other := seen[row.DistinctID+" "+row.ID]; !reflect.DeepEqual(other, row.Row) {
			t.Errorf("the view saw another row than is stored:\n%+v\n%+v", other, row.Row)
		}
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
	for _, session := range w.shown() {
		wantDuration += session.DurationMs()
		if session.Bounced() {
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
