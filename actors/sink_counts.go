package actors

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
)

// blockCounts is what the rules of the environments in a block count of it, by counter.
type blockCounts map[svc.AlertCounter]svc.AlertSlots

// counted is what one block brought of what one counter counts.
type counted struct {
	Counter svc.AlertCounter `json:"counter"`
	Slots   svc.AlertSlots   `json:"slots"`
}

// blockChance is how many bits of a block's number are chance.
const blockChance = 22

// NewBlockNumber returns the number of a block that is stored at an instant: the instant in
// milliseconds, then 22 bits of chance, so that numbers of any two runs and nodes differ.
func NewBlockNumber(now time.Time, chance uint32) uint64 {
	return uint64(now.UnixMilli())<<blockChance | uint64(chance)>>(32-blockChance)
}

// add adds an observation, or several, unless it lies before the counter's window.
func (b blockCounts) add(counter *svc.AlertCounter, begun, ts time.Time, totals svc.MetricTotals) *svc.AlertSlot {
	if begun.Sub(ts) > counter.Window()+time.Minute {
		return nil
	}
	slots := b[*counter]
	slot := slots.At(counter.Slot(ts))
	slot.MetricTotals.Add(totals)
	b[*counter] = slots
	return slot
}

// sawEvent counts a row.
func (b *openBlock) sawEvent(row *svc.EventRow) {
	set := b.rules.find(row.EnvironmentNumber)
	if set == nil || row.IsBot || len(set.events) == 0 {
		return
	}
	if b.count(set.events, row.Name, row.Ts) {
		b.rules.touch(set)
	}
}

// mayRegress says whether an issue is one whose occurrences its actor must see.
func (b *openBlock) mayRegress(issue uint64) bool { return b.watch != nil && b.watch.has(issue) }

// sawError counts an occurrence, and notices where its issue may be new or regress.
func (b *openBlock) sawError(row *svc.OccurrenceRow) {
	set := b.rules.find(row.EnvironmentNumber)
	if set == nil {
		return
	}
	touched := b.count(set.errors, string(row.Level), row.Ts)
	if set.newIssues && !b.rules.known.has(row.Issue) || set.regressions && b.mayRegress(row.Issue) {
		set.hurry.Store(true)
		touched = true
	}
	if touched {
		b.rules.touch(set)
	}
}

// count adds one to the counters of a word and of all words, and says whether there are
// any.
func (b *openBlock) count(counters map[string][]svc.AlertCounter, word string, ts time.Time) bool {
	found := false
	for _, of := range [2]string{word, ""} {
		for i := range counters[of] {
			found = b.counts.add(&counters[of][i], b.begun, ts, svc.MetricTotals{Count: 1}) != nil || found
		}
		if word == "" {
			break
		}
	}
	return found
}

// sawPoint counts the observations of a point of a metric.
func (b *openBlock) sawPoint(row *svc.MetricRow) {
	set := b.rules.find(row.Environment)
	if set == nil || row.Count == 0 {
		return
	}
	touched := false
	counters := set.points[row.Name]
	for i := range counters {
		if !labelled(row.Labels, counters[i].labels) {
			continue
		}
		slot := b.counts.add(&counters[i].AlertCounter, b.begun, row.Ts, row.MetricTotals)
		if slot == nil {
			continue
		}
		touched = true
		if counters[i].Bins {
			observe(slot, row)
		}
	}
	if touched {
		b.rules.touch(set)
	}
}

// observe adds the observations of a point to the bins of a slot.
func observe(slot *svc.AlertSlot, row *svc.MetricRow) {
	if len(row.Values) == 0 {
		slot.Observe(row.Sum, row.Count)
	}
	for i, value := range row.Values {
		slot.Observe(value, row.Weights[i])
	}
}

// labelled says whether a point has labels.
func labelled(labels, wanted []svc.Label) bool {
	for _, label := range wanted {
		if !slices.Contains(labels, label) {
			return false
		}
	}
	return true
}

// byApp parts what was counted by the applications whose rules count it. Those whose rules
// are gone are left out.
func (b *openBlock) byApp(want func(svc.AppRef) bool, clone bool) map[svc.AppRef][]counted {
	out := map[svc.AppRef][]counted{}
	for counter, slots := range b.counts {
		set := b.rules.find(counter.Environment)
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

// peek returns what the open block brings for the rules of applications so far.
func (s *Sink) peek(apps map[svc.AppRef]bool) map[svc.AppRef][]counted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open.byApp(func(app svc.AppRef) bool { return apps[app] }, true)
}

// countTime is how long a block waits at most for the alerting actors to hear what it
// brought.
const countTime = time.Second

// tellCounts tells the alerting actors what a stored block brought. As with new issues, it
// stands between the insert and the commit, and an actor knows the blocks that it was told
// of, so each counts once. An actor that cannot be reached holds nobody up for long: it is
// noted, and told later to read the store anew.
func (s *Sink) tellCounts(ctx context.Context, block *openBlock, id uint64) {
	told := block.byApp(func(svc.AppRef) bool { return true }, false)
	if len(told) == 0 {
		return
	}
	patient, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(tellAtOnce)
	for _, app := range slices.Collect(maps.Keys(told)) {
		if s.config.Rules.missed.again(app) {
			continue // it will read the store
		}
		group.Go(func() error {
			if err := s.tellCounted(patient, block, app, toldCounted{Block: id, Counts: told[app]}); err != nil {
				s.config.Logger.Warn("telling an application's alert rules what was counted failed", "error", err)
				s.config.Rules.missed.add(app)
			}
			return nil
		})
	}
	_ = group.Wait() // those that failed are noted
}

// tellCounted tells one actor, again until it has heard or nobody waits any more.
func (s *Sink) tellCounted(ctx context.Context, block *openBlock, app svc.AppRef, told toldCounted) error {
	return s.insist(ctx, block, "telling what was counted", func() error { return s.config.Alarms.Counted(ctx, app, told) })
}

// missedApps are applications whose alerting actors were not told of a block. Such an actor is not
// waited for before it has been told of that.
type missedApps struct {
	mu sync.Mutex
	// apps has true for those that must be told, false for those that are being told.
	apps map[svc.AppRef]bool
}

// again notes that an application in the list missed another block, and reports whether it is there.
func (m *missedApps) again(app svc.AppRef) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.apps[app]
	if known {
		m.apps[app] = true
	}
	return known
}

func (m *missedApps) add(app svc.AppRef) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.apps == nil {
		m.apps = map[svc.AppRef]bool{}
	}
	m.apps[app] = true
}

// take returns the applications that must be told now.
func (m *missedApps) take() (apps []svc.AppRef) {
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

// told takes an application off the list, unless it missed another block meanwhile.
func (m *missedApps) told(app svc.AppRef) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.apps[app] {
		delete(m.apps, app)
	}
}
