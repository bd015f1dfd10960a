package actors

import (
	"time"

	"svc"
)

// Rules that count are not measured because time passes but because enough has happened:
// the stream says when to look, the store says what there is. What was measured of a rule
// that rises can only fall until more of what it counts is taken in. So the actor keeps
// what is missing until the rule can fire, hears from every node what was taken in, and
// has the rule measured once it is enough and stored. What it hears of need not be exact:
// too much of it costs a measurement, too little the time to the next regular one.

const (
	// calmEvery is the time between two measurements of rules that rise and are far from
	// firing.
	calmEvery = time.Minute
	// roomLag is how long what was heard of may be missing from what is measured: it lies
	// in the open block of another node.
	roomLag = 3 * time.Second
)

// room is what is known of how much may happen before a rule can fire.
type room struct {
	// left is what was missing at the last measurement, which began at measured; the zero
	// time says that there was none.
	left     float64
	measured time.Time
	// heard is what was heard of that the measurement may have missed.
	heard []heard
	// wanted says that the rule is to be measured as soon as everything heard of is stored,
	// due that it is.
	wanted, due bool
}

type heard struct {
	at time.Time
	n  uint64
}

// hear adds what happened; what happened within a second is kept together.
func (r *room) hear(now time.Time, n uint64) {
	if last := len(r.heard) - 1; last >= 0 && now.Sub(r.heard[last].at) < time.Second {
		r.heard[last].n += n
		return
	}
	r.heard = append(r.heard, heard{now, n})
}

// enough says whether the rule may fire.
func (r *room) enough() bool {
	if r.measured.IsZero() {
		return true
	}
	sum := uint64(0)
	for _, h := range r.heard {
		sum += h.n
	}
	return float64(sum) >= r.left
}

// measure takes a value that was measured from an instant on. What was heard of before then
// is in it, except the latest.
func (r *room) measure(rule *svc.AlertRule, began time.Time, value float64) {
	r.left, r.measured = rule.Room(value), began
	kept := r.heard[:0]
	for _, h := range r.heard {
		if h.at.Add(time.Second + roomLag).After(began) {
			kept = append(kept, h)
		}
	}
	r.heard = kept
}

type (
	// toldStream is what the stream brought of what an application's rules count.
	toldStream struct {
		Counts []streamCount `json:"counts"`
	}
	streamCount struct {
		Environment uint64        `json:"environment"`
		Kind        svc.AlertKind `json:"kind"`
		Word        string        `json:"word"`
		N           uint64        `json:"n"`
	}
	// heardStream answers toldStream: whether to store what was told of and say so with
	// look.
	heardStream struct {
		Look bool `json:"look"`
	}
)

// streamKey is what a rule counts.
type streamKey struct {
	environment uint64
	kind        svc.AlertKind
	word        string
}

// counting returns the ids of the rules that rise, by what they count.
func (a *alerting) counting() map[streamKey][]string {
	if a.index != nil {
		return a.index
	}
	a.index = map[streamKey][]string{}
	for id, rule := range a.rules {
		key := streamKey{rule.Number, rule.Kind, rule.Condition.Name}
		if rule.Kind == svc.AlertErrorRate {
			key.word = rule.Condition.Level
		}
		if rule.Enabled && rule.Rises() {
			a.index[key] = append(a.index[key], id)
		}
	}
	return a.index
}

// room returns what is known of a rule.
func (a *alerting) room(id string) *room {
	if a.rooms[id] == nil {
		a.rooms[id] = &room{}
	}
	return a.rooms[id]
}

// onStream is told what was taken in. A rule that fires, or waits for its minutes to pass,
// is measured regularly.
func (a *alerting) onStream(now time.Time, m toldStream) (outcome, error) {
	answer, index := heardStream{}, a.counting()
	for _, count := range m.Counts {
		for _, id := range index[streamKey{count.Environment, count.Kind, count.Word}] {
			if state := a.states[id].State; state == svc.AlertFiring || state == svc.AlertPending {
				continue
			}
			room := a.room(id)
			room.hear(now, count.N)
			room.wanted = room.wanted || room.enough()
			answer.Look = answer.Look || room.wanted
		}
	}
	return outcome{answer: answer}, nil
}

// onLook is told that everything told of before is stored.
func (a *alerting) onLook(time.Time, none) (outcome, error) {
	for _, room := range a.rooms {
		if room.wanted {
			room.wanted, room.due = false, true
		}
	}
	return outcome{answer: none{}, after: a.changed}, nil
}

// toLook returns the rules of which enough has happened and is stored.
func (a *alerting) toLook() (rules []svc.AlertRule) {
	for id, room := range a.rooms {
		if rule := a.rules[id]; room.due && rule.Enabled {
			rules = append(rules, rule)
		}
		room.due = false
	}
	return rules
}

// calm says whether a rule need not be measured before enough has happened: it rises, does
// not fire, and was measured when nothing could be missing any more of what was told to the
// activation before this one.
func (a *alerting) calm(rule *svc.AlertRule) bool {
	known := a.rooms[rule.ID]
	state := a.states[rule.ID].State
	return rule.Rises() && (state == "" || state == svc.AlertOK) && known != nil && !known.wanted &&
		!known.measured.IsZero() && known.measured.Sub(a.began) >= roomLag
}

// toMeasure returns the rules whose time has come to be measured.
func (a *alerting) toMeasure(now time.Time) []svc.AlertRule {
	regular := now.Sub(a.measured) >= evaluateEvery
	whole := regular && now.Sub(a.whole) >= calmEvery
	if regular {
		a.measured = now
	}
	if whole {
		a.whole = now
	}
	return a.sorted(func(r svc.AlertRule) bool {
		if r.Kind.Told() || !a.measures(r.Kind) {
			return false
		}
		return whole || regular && !a.calm(&r)
	})
}

// nextMeasurement returns when a rule is to be measured next.
func (a *alerting) nextMeasurement(rule *svc.AlertRule) time.Time {
	next := a.measured.Add(evaluateEvery)
	if known := a.rooms[rule.ID]; known != nil && known.due {
		return a.measured
	}
	if whole := a.whole.Add(calmEvery); a.calm(rule) && whole.After(next) {
		return whole
	}
	return next
}
