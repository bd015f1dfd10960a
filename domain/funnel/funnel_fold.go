package funnel

import (
	"cmp"
	"slices"

	"svc/domain"
)

// How a funnel counts (contract 43):
//
//   - The events of a person are ordered by time, and by id within an instant.
//   - An attempt begins with an event that matches the first step within the window of
//     the read. Each further step is the first matching event after the event of the previous
//     step, so one event never serves two steps. All steps happen within the
//     funnel's hours of the first one, its last millisecond included. The
//     window of the read may have ended by then.
//   - Of a person's attempts the one with the most steps counts; of equal ones, the first.
//   - A person is the merged person if the event names one, else the visitor: the distinct id,
//     else the anonymous id.

// Event is one event of a person that matches a step.
type Event struct {
	TsMs int64
	// Steps has bit n set if the event matches step n+1.
	Steps uint16
}

// Tally counts persons into the results of a funnel. It is not for concurrent use.
type Tally struct {
	funnel         *Funnel
	fromMs, toMs   int64
	windowMs       int64
	depths         [MaxFunnelSteps + 1]uint64
	took           [MaxFunnelSteps][]int64 // milliseconds from the previous step
	starts, begins [MaxFunnelSteps]int64
}

// NewFunnelTally returns an empty tally of the persons that enter a funnel in a window.
func NewFunnelTally(funnel *Funnel, window domain.Window) *Tally {
	return &Tally{
		funnel: funnel, fromMs: window.From.UnixMilli(), toMs: window.To.UnixMilli(), windowMs: funnel.Window().Milliseconds(),
	}
}

// AddEntered counts persons that took the first step in the window but no further step.
func (t *Tally) AddEntered(persons uint64) { t.depths[1] += persons }

// Add counts one person. The events are in order and may include events outside of the window of the read.
func (t *Tally) Add(events []Event) {
	depth := t.depth(events)
	t.depths[depth]++
	if depth < MinFunnelSteps {
		return
	}
	at := t.first(events, depth)
	for step := 1; step < depth; step++ {
		before := events[at].TsMs
		at = next(events, at, step)
		t.took[step] = append(t.took[step], events[at].TsMs-before)
	}
}

func (t *Tally) enters(e Event) bool {
	return e.Steps&1 != 0 && e.TsMs >= t.fromMs && e.TsMs < t.toMs
}

// noStart is before every possible beginning of an attempt.
const noStart = -1 << 62

// depth returns the number of steps of the deepest attempt. For every step it stores the latest beginning of an attempt
// that reached it: the latest attempt can reach every step that an earlier one can still reach.
func (t *Tally) depth(events []Event) int {
	steps, depth := len(t.funnel.Steps), 0
	for i := range steps {
		t.starts[i] = noStart
	}
	for _, event := range events {
		for step := min(steps-1, depth); step > 0; step-- {
			if event.Steps&(1<<step) != 0 && event.TsMs-t.starts[step-1] <= t.windowMs {
				t.starts[step] = t.starts[step-1]
				depth = max(depth, step+1)
			}
		}
		if t.enters(event) {
			t.starts[0] = event.TsMs
			depth = max(depth, 1)
		}
	}
	return depth
}

// first returns the event at which the first attempt of a depth begins. It walks backwards and stores for every step
// when an attempt that continues from there ends.
func (t *Tally) first(events []Event, depth int) int {
	const never = 1 << 62
	ends, found := t.begins[:depth], 0
	for i := range ends {
		ends[i] = never
	}
	for i, event := range slices.Backward(events) {
		for step := range depth {
			if event.Steps&(1<<step) == 0 {
				continue
			}
			ends[step] = event.TsMs
			if step+1 < depth {
				ends[step] = ends[step+1]
			}
		}
		if t.enters(event) && ends[0]-event.TsMs <= t.windowMs {
			found = i
		}
	}
	return found
}

// next returns the index of the first event after at that matches a step. Such an event must exist.
func next(events []Event, at, step int) int {
	for at++; events[at].Steps&(1<<step) == 0; at++ {
		continue
	}
	return at
}

// Rows returns the results so far.
func (t *Tally) Rows() []Row {
	steps := len(t.funnel.Steps)
	rows := make([]Row, steps)
	var reached uint64
	for i := steps - 1; i >= 0; i-- {
		converted := reached
		reached += t.depths[i+1]
		if i == steps-1 {
			converted = reached
		}
		row := Row{Step: i + 1, Name: t.funnel.Steps[i].Match, Entered: reached, Converted: converted, DropOff: reached - converted}
		if reached > 0 {
			row.ConversionRate = float64(converted) / float64(reached)
		}
		if i > 0 {
			row.MedianSeconds = medianSeconds(t.took[i])
		}
		rows[i] = row
	}
	return rows
}

// medianSeconds returns the median of durations in milliseconds, nil for an empty list.
func medianSeconds(took []int64) *float64 {
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	low, high := took[(len(took)-1)/2], took[len(took)/2]
	seconds := float64(low+high) / 2 / 1000
	return &seconds
}

// DropOffs collects the persons that dropped off after one step of a funnel in their counted attempt. It is not
// for concurrent use.
type DropOffs struct {
	tally   *Tally
	step    int
	dropped []dropOff
}

// dropOff is a person that dropped off, with the beginning of the attempt.
type dropOff struct {
	person  uint64
	beganMs int64
}

// NewFunnelDropOffs returns an empty set for the persons that enter a funnel in a window and go no further than a step,
// which counts from 1.
func NewFunnelDropOffs(funnel *Funnel, window domain.Window, step int) *DropOffs {
	return &DropOffs{tally: NewFunnelTally(funnel, window), step: step}
}

// Add processes one person, with the events in order.
func (d *DropOffs) Add(person uint64, events []Event) {
	depth := d.tally.depth(events)
	if depth != d.step {
		return
	}
	d.dropped = append(d.dropped, dropOff{person, events[d.tally.first(events, depth)].TsMs})
	if len(d.dropped) >= 2*MaxDropOffs {
		d.cut()
	}
}

// cut retains the persons with the latest attempts.
func (d *DropOffs) cut() {
	slices.SortFunc(d.dropped, func(a, b dropOff) int {
		return cmp.Or(cmp.Compare(b.beganMs, a.beganMs), cmp.Compare(a.person, b.person))
	})
	d.dropped = d.dropped[:min(len(d.dropped), MaxDropOffs)]
}

// Persons returns the numbers of the persons, ascending. If there are more than MaxDropOffs, it returns the persons
// with the latest attempts.
func (d *DropOffs) Persons() []uint64 {
	d.cut()
	persons := make([]uint64, len(d.dropped))
	for i, one := range d.dropped {
		persons[i] = one.person
	}
	slices.Sort(persons)
	return persons
}
