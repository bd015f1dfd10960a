package alerting

import (
	"time"

	"svc/actors/grain"
	"svc/actors/pipeline"
	"svc/domain/alert"
)

// A counting rule is evaluated by the window that its actor holds in memory. The window is read from the store once;
// from then on every node reports the counts of each block that it stores. Blocks have numbers, so the actor knows
// whether the window includes a block: it was reported before, or the reading found it.

const (
	// rereadEvery bounds how long a window may be wrong: after it the window is rebuilt from the store, which
	// repairs counts lost to a crash between two writes.
	rereadEvery = 15 * time.Minute
	// settleLag is how long a node may not yet count for a new rule. The rows that it did not count are stored after
	// settleLag and the flush interval.
	settleLag = 5 * time.Second
	// recentTime is the age of the oldest block that a reading names. It is unknown whether the reading includes an
	// older block, so a report of one causes another reading.
	recentTime = 2 * time.Minute
	// readPause is the least time between the beginnings of two readings.
	readPause = 10 * time.Second
	// seenTime is how long the number of a reported block is remembered.
	seenTime = rereadEvery + 5*time.Minute
)

// window holds the counts of a counter as far as they are known.
type window struct {
	rules []string
	slots alert.Slots
	// read is when the reading that the slots are based on began, zero before the first. found holds the recent blocks
	// that it includes.
	read  time.Time
	found map[uint64]bool
	// due is when the store is read next; again is when it is read another time after that. asked is when the reading
	// under way was requested.
	due, again, asked time.Time
	// waiting holds the blocks reported since asked.
	waiting []blockReport
}

// blockReport holds the counts of a block.
type blockReport struct {
	block uint64
	slots alert.Slots
}

// recentBlock returns the lowest block number that a reading of an instant names.
func recentBlock(read time.Time) uint64 { return pipeline.NewBlockNumber(read.Add(-recentTime), 0) }

// receive adds the counts of a block.
func (w *window) receive(counter *alert.Counter, now time.Time, told blockReport) {
	if !w.asked.IsZero() {
		w.waiting = append(w.waiting, told)
	}
	if !w.read.IsZero() {
		w.add(counter, now, told)
	}
}

// add adds a block to the slots unless they include it.
func (w *window) add(counter *alert.Counter, now time.Time, told blockReport) {
	switch {
	case told.block < recentBlock(w.read):
		w.reread(now)
	case !w.found[told.block]:
		w.slots.Add(told.slots)
		w.slots = counter.Trim(w.slots, now)
	}
}

// reread makes a reading due now, or right after the one under way.
func (w *window) reread(now time.Time) {
	if w.asked.IsZero() {
		w.due = now
		return
	}
	w.again = now
}

// applyReading replaces the slots by the result of a reading that began at an instant, and adds the blocks reported
// since.
func (w *window) applyReading(counter *alert.Counter, now, began time.Time, reading *readWindow) {
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
	// openBlockReport holds the counts of the open block so far.
	openBlockReport struct {
		Counts []counted `json:"counts"`
	}
	// openBlockAnswer answers openBlockReport. Look says whether a rule waits for the block to be stored.
	openBlockAnswer struct {
		Look bool `json:"look"`
	}
	// readReport is a reading of the store: Asked is when it was requested, At when it began.
	readReport struct {
		Asked   time.Time    `json:"asked"`
		At      time.Time    `json:"at"`
		Windows []readWindow `json:"windows"`
	}
	readWindow struct {
		Counter alert.Counter `json:"counter"`
		Slots   alert.Slots   `json:"slots"`
		Blocks  []uint64      `json:"blocks"`
		Failed  bool          `json:"failed"`
	}
)

// align retains the windows that the rules use, drops others and adds missing ones. New windows of changed rules are
// read twice, since other nodes begin to count a little later.
func (a *alerting) align(now time.Time, changed bool) {
	before := a.windows
	a.windows, a.divided = map[alert.Counter]*window{}, map[alert.Counter][]string{}
	for _, rule := range a.sorted(func(alert.Rule) bool { return true }) {
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

// onCounted receives the counts of a stored block. The resulting rule states are stored before the answer.
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

// markSeen records that a block was reported, and removes old blocks.
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

// onStream receives the counts of an open block, and answers whether a rule would fire with them.
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
	// A new activation has windows to read.
	return grain.Outcome[openBlockAnswer]{Answer: answer, Effects: grain.Effects{After: a.changed}}, nil
}

// mayRise reports whether more errors can make a session-rate rule fire.
func (a *alerting) mayRise(id string) bool {
	rule, state := a.rules[id], a.states[id].State
	return !rule.Suppressible() && state != alert.Firing && state != alert.Pending
}

// wouldFire reports whether a rule would begin to fire, or become pending.
func (a *alerting) wouldFire(id string, counter *alert.Counter, now time.Time, lists ...alert.Slots) bool {
	rule, state := a.rules[id], a.states[id]
	if state.State == alert.Firing || state.State == alert.Pending {
		return false
	}
	value, known := counter.Value(rule.Agg(), now, lists...)
	if a.doubtful(&rule, now, known) {
		return false
	}
	next, _ := rule.Apply(state, alert.Measurement{At: now, Value: value, Known: known})
	return next.State == alert.Firing || next.State == alert.Pending
}

// onMissed handles a block that a node could not report: the windows are read again.
func (a *alerting) onMissed(now time.Time, _ grain.None) (grain.Outcome[grain.None], error) {
	for _, w := range a.windows {
		w.reread(now)
	}
	return grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{After: a.changed}}, nil
}

// onRead receives a reading of the store. A reading that no window waits for is ignored: the actor was activated or
// loaded again since the request, and only a later reading includes the blocks reported meanwhile.
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

// toRead returns the windows to read from the store now: all that are due, once the last reading has ended and
// readPause has passed since it began. So many new rules in a row cost few queries.
func (a *alerting) toRead(now time.Time) (counters []alert.Counter) {
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

// readingStill reports whether a reading is under way. A reading without an answer is given up after a while.
func (a *alerting) readingStill(now time.Time) bool {
	for _, w := range a.windows {
		if !w.asked.IsZero() && now.Sub(w.asked) <= 2*alertTimeout {
			return true
		}
	}
	return false
}
