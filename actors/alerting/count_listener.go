package alerting

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/actors/attempt"
	"svc/actors/pipeline"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/domain/occurrence"
)

// blockCounts holds the counts of a block for the rules of its environments, by counter.
type blockCounts map[alert.Counter]alert.Slots

// counted is the count of one counter in one block.
type counted struct {
	Counter alert.Counter `json:"counter"`
	Slots   alert.Slots   `json:"slots"`
}

// add adds an observation, or several, unless it is older than the counter's window.
func (b blockCounts) add(counter *alert.Counter, begun, ts time.Time, totals metric.Totals) *alert.Slot {
	if begun.Sub(ts) > counter.Window()+time.Minute {
		return nil
	}
	slots := b[*counter]
	slot := slots.At(counter.Slot(ts))
	slot.Totals.Add(totals)
	b[*counter] = slots
	return slot
}

// CountListener counts the rows of each block for the alert rules, and reports the counts to the alerting
// actors.
type CountListener struct {
	pipeline.NopListener
	Rules  *RuleIndex
	Alerts countReceiver
	Now    func() time.Time
	Logger *slog.Logger
}

// countReceiver is the part of the alerting actors' client that receives counts.
type countReceiver interface {
	// ReportCounts returns once the resulting rule states are durable; it may be repeated.
	ReportCounts(ctx context.Context, app domain.AppRef, told countReport) error
}

// Open begins to count a block.
func (l *CountListener) Open() pipeline.BlockListener {
	return &countedBlock{listener: l, counts: blockCounts{}, begun: l.Now()}
}

// countedBlock gathers the counts of one block.
type countedBlock struct {
	pipeline.NopBlockListener
	listener *CountListener
	counts   blockCounts
	begun    time.Time
}

// Saw counts rows.
func (b *countedBlock) Saw(_ int64, rows *ingest.Rows) {
	if !b.listener.Rules.any() {
		return
	}
	missed := func(_ int, cause any) {
		b.listener.Logger.Error("a row is stored that alert rules do not count", "cause", cause)
	}
	attempt.Each(len(rows.Events), func(n int) { b.sawEvent(&rows.Events[n]) }, missed)
	attempt.Each(len(rows.Occurrences), func(n int) { b.sawError(&rows.Occurrences[n]) }, missed)
	attempt.Each(len(rows.Points), func(n int) { b.sawPoint(&rows.Points[n]) }, missed)
}

// sawEvent counts an event.
func (b *countedBlock) sawEvent(row *event.Row) {
	set := b.listener.Rules.find(row.EnvironmentNumber)
	if set == nil || row.IsBot || len(set.events) == 0 {
		return
	}
	if b.count(set.events, row.Name, row.Ts) {
		b.listener.Rules.touch(set)
	}
}

// sawError counts an occurrence.
func (b *countedBlock) sawError(row *occurrence.Row) {
	set := b.listener.Rules.find(row.EnvironmentNumber)
	if set != nil && b.count(set.errors, string(row.Level), row.Ts) {
		b.listener.Rules.touch(set)
	}
}

// count adds one to the counters of a word and to the counters of all words, and reports whether there are any.
func (b *countedBlock) count(counters map[string][]alert.Counter, word string, ts time.Time) bool {
	found := false
	for _, of := range [2]string{word, ""} {
		for i := range counters[of] {
			found = b.counts.add(&counters[of][i], b.begun, ts, metric.Totals{Count: 1}) != nil || found
		}
		if word == "" {
			break
		}
	}
	return found
}

// sawPoint counts the observations of a point of a metric.
func (b *countedBlock) sawPoint(row *metric.Row) {
	set := b.listener.Rules.find(row.Environment)
	if set == nil || row.Count == 0 {
		return
	}
	touched := false
	counters := set.points[row.Name]
	for i := range counters {
		if !labelled(row.Labels, counters[i].labels) {
			continue
		}
		slot := b.counts.add(&counters[i].Counter, b.begun, row.Ts, row.Totals)
		if slot == nil {
			continue
		}
		touched = true
		if counters[i].Bins {
			observe(slot, row)
		}
	}
	if touched {
		b.listener.Rules.touch(set)
	}
}

// observe adds the observations of a point to the bins of a slot.
func observe(slot *alert.Slot, row *metric.Row) {
	if len(row.Values) == 0 {
		slot.Observe(row.Sum, row.Count)
	}
	for i, value := range row.Values {
		slot.Observe(value, row.Weights[i])
	}
}

// labelled reports whether a point has all wanted labels.
func labelled(labels, wanted []metric.Label) bool {
	for _, label := range wanted {
		if !slices.Contains(labels, label) {
			return false
		}
	}
	return true
}

// byApp groups the counts by application. It leaves out counts of rules that no longer exist.
func (b *countedBlock) byApp(want func(domain.AppRef) bool, clone bool) map[domain.AppRef][]counted {
	out := map[domain.AppRef][]counted{}
	for counter, slots := range b.counts {
		set := b.listener.Rules.find(counter.Environment)
		if set == nil || !want(set.app) {
			continue
		}
		if clone {
			slots = slots.Clone()
		}
		out[set.app] = append(out[set.app], counted{counter, slots})
	}
	return out
}

// countTime bounds how long a block waits for the alerting actors to take its counts.
const countTime = time.Second

// Stored reports the counts of a stored block to the alerting actors. It runs between the insert and the commit and may
// be repeated; an actor knows the blocks that it received, so each counts once. The block stops waiting for an actor
// that does not answer in time: the application is noted, and the actor later has to read the store again.
func (b *countedBlock) Stored(ctx context.Context, block *pipeline.StoredBlock) error {
	told := b.byApp(func(domain.AppRef) bool { return true }, false)
	if len(told) == 0 {
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(reportsAtOnce)
	for app, counts := range told {
		if b.listener.Rules.missed.again(app) {
			continue // it will read the store
		}
		group.Go(func() error {
			err := block.Retry(patient, "telling what was counted", func() error {
				return b.listener.Alerts.ReportCounts(patient, app, countReport{Block: block.ID, Counts: counts})
			})
			if err != nil {
				b.listener.Logger.Warn("telling an application's alert rules what was counted failed", "error", err)
				b.listener.Rules.missed.add(app)
			}
			return nil
		})
	}
	_ = group.Wait() // applications that failed are noted
	// Rows that arrived while the block was stored were compared with counts that lack it.
	for counter := range b.counts {
		if set := b.listener.Rules.find(counter.Environment); set != nil {
			b.listener.Rules.touch(set)
		}
	}
	return nil
}

// missedApps lists applications with alerting actors that missed a block. Blocks do not wait for such an actor until it
// knows that it must read the store.
type missedApps struct {
	mu sync.Mutex
	// apps is true for applications to notify, false for the ones being notified.
	apps map[domain.AppRef]bool
}

// again notes that an application in the list missed another block, and reports whether it is in the list.
func (m *missedApps) again(app domain.AppRef) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.apps[app]
	if known {
		m.apps[app] = true
	}
	return known
}

func (m *missedApps) add(app domain.AppRef) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.apps == nil {
		m.apps = map[domain.AppRef]bool{}
	}
	m.apps[app] = true
}

// take returns the applications to notify now.
func (m *missedApps) take() (apps []domain.AppRef) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for app, must := range m.apps {
		if must {
			m.apps[app] = false
			apps = append(apps, app)
		}
	}
	return apps
}

// told removes an application from the list, unless it missed another block meanwhile.
func (m *missedApps) told(app domain.AppRef) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.apps[app] {
		delete(m.apps, app)
	}
}
