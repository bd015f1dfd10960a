package alerting

import (
	"time"

	"svc"
	"svc/actors/grain"
	"svc/actors/pipeline"
)

// A rule that counts is judged by what the actor itself knows of its window. The window is
// read from the store once, and from then on every block that any node stores tells what it
// brought. A block has a number, so it is known whether the window holds it: it was told of
// before, or the reading found it.

const (
	// rereadEvery is how long a window is trusted before the store is read again: what an
	// interruption between two stored things may have left out is made good by then.
	rereadEvery = 15 * time.Minute
	// settleLag is how long after a rule was made a node may not count for it yet, and, with
	// the flush interval, how long what it did not count may not be stored.
	settleLag = 5 * time.Second
	// recentTime is how old the blocks are of which a reading says whether it found them.
	// Of older ones it is not known, so they are answered by another reading.
	recentTime = 2 * time.Minute
	// readPause is the least time between the beginnings of two readings.
	readPause = 10 * time.Second
	// seenTime is how long it is remembered that a block was told of.
	seenTime = rereadEvery + 5*time.Minute
)

// window holds the counts of a counter as far as they are known.
type window struct {
	rules []string
	slots svc.AlertSlots
	// read is when the reading began that the slots rest on, zero before the first; found
	// are the recent blocks that it found.
	read  time.Time
	found map[uint64]bool
	// due is when the store is read next, again a time at which it is to be read once more
	// after that; asked is when a reading that has not ended was asked for.
	due, again, asked time.Time
	// waiting are the blocks told of since then.
	waiting []blockReport
}

// blockReport holds the counts of a block.
type blockReport struct {
	block uint64
	slots svc.AlertSlots
}

// recentBlock returns the lowest number of blocks of which a reading knows whether it found
// them.
func recentBlock(read time.Time) uint64 { return pipeline.NewBlockNumber(read.Add(-recentTime), 0) }

// take takes what a block brought.
func (w *window) receive(counter *svc.AlertCounter, now time.Time, told blockReport) {
	if !w.asked.IsZero() {
		w.waiting = append(w.waiting, told)
	}
	if !w.read.IsZero() {
		w.add(counter, now, told)
	}
}

// put adds a block to the slots unless they hold it.
func (w *window) add(counter *svc.AlertCounter, now time.Time, told blockReport) {
	switch {
	case told.block < recentBlock(w.read):
		w.reread(now)
	case !w.found[told.block]:
		w.slots.Add(told.slots)
		w.slots = counter.Trim(w.slots, now)
	}
}

// reread has the store read from now on.
func (w *window) reread(now time.Time) {
	if w.asked.IsZero() {
		w.due = now
		return
	}
	w.again = now
}

// rest puts the slots on what a reading found that began at an instant.
func (w *window) applyReading(counter *svc.AlertCounter, now, began time.Time, reading *readWindow) {
	waiting := w.waiting
	w.asked, w.waiting = time.Time{}, nil
	if reading.Failed {
		w.due = now.Add(evaluateEvery)
		return
	}
	w.slots, w.read, w.found, w.due = reading.Slots, began, map[uint64]bool{}, began.Add(rereadEvery)
	for _, block := range reading.Blocks {
		w.found[block] = true
	}
	if !w.again.IsZero() {
		w.due, w.again = w.again, time.Time{}
	}
	for _, told := range waiting {
		w.add(counter, now, told)
	}
}

type (
	// countReport holds the counts of a stored block for an application's rules.
	countReport struct {
		Block  uint64    `json:"block"`
		Counts []counted `json:"counts"`
	}
	// openBlockReport is the same of a block that is not stored yet, as far as it has come.
	openBlockReport struct {
		Counts []counted `json:"counts"`
	}
	// openBlockAnswer answers toldStream: whether to store what was told of at once.
	openBlockAnswer struct {
		Look bool `json:"look"`
	}
	// readReport is what the store holds, by a reading that was asked for and began at two instants.
	readReport struct {
		Asked   time.Time    `json:"asked"`
		At      time.Time    `json:"at"`
		Windows []readWindow `json:"windows"`
	}
	readWindow struct {
		Counter svc.AlertCounter `json:"counter"`
		Slots   svc.AlertSlots   `json:"slots"`
		Blocks  []uint64         `json:"blocks"`
		Failed  bool             `json:"failed"`
	}
)

// align makes the windows those of the rules; the ones that both have stay. New windows of
// changed rules are read twice, since other nodes begin to count a little later.
func (a *alerting) align(now time.Time, changed bool) {
	before := a.windows
	a.windows, a.divided = map[svc.AlertCounter]*window{}, map[svc.AlertCounter][]string{}
	for _, rule := range a.sorted(func(svc.AlertRule) bool { return true }) {
		counter, counts := rule.Counter()
		if !counts {
			if rule.Condition.Per != "" {
				a.divided[counter] = append(a.divided[counter], rule.ID)
			}
			continue
		}
		w := a.windows[counter]
		if w == nil {
			if w = before[counter]; w == nil {
				w = &window{due: now}
				if changed {
					w.again = now.Add(settleLag + a.flush)
				}
			}
			w.rules = nil
			a.windows[counter] = w
		}
		w.rules = append(w.rules, rule.ID)
	}
}

// onCounted is told what a stored block brought. What the rules make of it is stored before
// the answer.
func (a *alerting) onCounted(now time.Time, m countReport) (grain.Outcome[grain.None], error) {
	result := grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{After: a.changed}}
	if _, heard := a.seenBlocks[m.Block]; heard {
		return result, nil
	}
	a.markSeen(now, m.Block)
	for i := range m.Counts {
		counter := &m.Counts[i].Counter
		for _, id := range a.divided[*counter] {
			if a.mayRise(id) {
				a.pending[id] = true
			}
		}
		w := a.windows[*counter]
		if w == nil {
			continue
		}
		w.receive(counter, now, blockReport{m.Block, m.Counts[i].Slots})
		a.evaluateAll(&result.Effects, w, now)
	}
	return result, nil
}

// hear notes that a block was told of, and forgets those of long ago.
func (a *alerting) markSeen(now time.Time, block uint64) {
	a.seenBlocks[block] = now
	if now.Sub(a.pruned) < time.Minute {
		return
	}
	a.pruned = now
	for block, at := range a.seenBlocks {
		if now.Sub(at) > seenTime {
			delete(a.seenBlocks, block)
		}
	}
}

// onStream is told what an open block brings, and says whether a rule would fire with it.
func (a *alerting) onStream(now time.Time, m openBlockReport) (grain.Outcome[openBlockAnswer], error) {
	answer := openBlockAnswer{}
	for i := range m.Counts {
		counter := &m.Counts[i].Counter
		for _, id := range a.divided[*counter] {
			answer.Look = answer.Look || a.mayRise(id)
		}
		w := a.windows[*counter]
		if w == nil {
			continue
		}
		if w.read.IsZero() {
			answer.Look = true
			continue
		}
		for _, id := range w.rules {
			answer.Look = answer.Look || a.wouldFire(id, counter, now, w.slots, m.Counts[i].Slots)
		}
	}
	// An actor that has just been activated has windows to read.
	return grain.Outcome[openBlockAnswer]{Answer: answer, Effects: grain.Effects{After: a.changed}}, nil
}

// mayRise says whether more errors can make a rule fire that divides them.
func (a *alerting) mayRise(id string) bool {
	rule, state := a.rules[id], a.states[id].State
	return !rule.Suppressible() && state != svc.AlertFiring && state != svc.AlertPending
}

// wouldFire says whether a rule would begin to fire, or to wait for its minutes to pass.
func (a *alerting) wouldFire(id string, counter *svc.AlertCounter, now time.Time, lists ...svc.AlertSlots) bool {
	rule, state := a.rules[id], a.states[id]
	if state.State == svc.AlertFiring || state.State == svc.AlertPending {
		return false
	}
	value, known := counter.Value(rule.Agg(), now, lists...)
	if a.doubtful(&rule, now, known) {
		return false
	}
	next, _ := rule.Apply(state, svc.Measurement{At: now, Value: value, Known: known})
	return next.State == svc.AlertFiring || next.State == svc.AlertPending
}

// onMissed is told that a node could not tell of a block.
func (a *alerting) onMissed(now time.Time, _ grain.None) (grain.Outcome[grain.None], error) {
	for _, w := range a.windows {
		w.reread(now)
	}
	return grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{After: a.changed}}, nil
}

// onRead is told what the store holds. A reading that nobody waits for any more is ignored: the
// actor that asked for it was activated or loaded again since, and what blocks told it meanwhile
// is in a later reading only.
func (a *alerting) onRead(now time.Time, m readReport) (grain.Outcome[grain.None], error) {
	result := grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{After: a.changed}}
	for i := range m.Windows {
		reading := &m.Windows[i]
		if w := a.windows[reading.Counter]; w != nil && !w.asked.IsZero() && w.asked.Equal(m.Asked) {
			w.applyReading(&reading.Counter, now, m.At, reading)
			a.evaluateAll(&result.Effects, w, now)
		}
	}
	return result, nil
}

// toRead returns the windows that are to be read from the store now: after a reading has
// ended, and readPause after it began, all that have become due. So many rules that are made
// one after another are answered by few queries.
func (a *alerting) toRead(now time.Time) (counters []svc.AlertCounter) {
	if now.Sub(a.reading) < readPause || a.readingStill(now) {
		return nil
	}
	for counter, w := range a.windows {
		if !w.due.After(now) {
			w.asked, w.waiting = now, nil
			counters = append(counters, counter)
		}
	}
	if len(counters) > 0 {
		a.reading = now
	}
	return counters
}

// readingStill says whether a reading is under way. One of which nothing was heard is given
// up.
func (a *alerting) readingStill(now time.Time) bool {
	for _, w := range a.windows {
		if !w.asked.IsZero() && now.Sub(w.asked) <= 2*alertTimeout {
			return true
		}
	}
	return false
}
