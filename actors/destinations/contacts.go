package destinations

import (
	"context"
	"sync"
	"time"

	"svc/actors/grain"
	"svc/domain/destination"
)

const (
	// contactsAtOnce bounds the people of one query to the store: the people of the attempt, and of deliveries that are
	// due next. The conversions of a block may belong to many people, and a block is seconds long.
	contactsAtOnce = 2048
	// contactsFresh is how long an answer is used.
	contactsFresh = 2 * time.Second
	// contactsGather is how long a query waits for the people of other deliveries. The conversions of one block arrive
	// in parts within this time, and most of the cost of a query does not depend on the number of people.
	contactsGather = 50 * time.Millisecond
)

// visitorKey is a visitor of an environment.
type visitorKey struct{ environment, visitor uint64 }

// contacts finds the contact data for the deliveries of one destination, ahead of the attempts. It may be used
// concurrently.
type contacts struct {
	mu sync.Mutex
	// asked is the query that covers a visitor. Guarded by mu.
	asked map[visitorKey]*question
	// gathering is the query that further visitors may join, or nil. Guarded by mu.
	gathering *question
}

// question is one query to the store; found and err are set once done is closed.
type question struct {
	at time.Time
	// keys are the visitors of the query. Guarded by the mutex of the contacts while it gathers.
	keys  []visitorKey
	done  chan struct{}
	found map[visitorKey]destination.Contacts
	err   error
}

// useful reports whether a query answers for attempts that begin at an instant.
func (q *question) useful(now time.Time) bool {
	if q == nil || now.Sub(q.at) >= contactsFresh {
		return false
	}
	select {
	case <-q.done:
		return q.err == nil
	default:
		return true
	}
}

// plan returns the queries that cover some visitors. Visitors that are in no query join the gathering one, together
// with the visitors in ahead. If no query gathers, plan calls ask with a new one.
func (k *contacts) plan(now time.Time, needed, ahead []visitorKey, ask func(*question)) []*question {
	k.mu.Lock()
	defer k.mu.Unlock()
	joined := false
	cover := func(key visitorKey) *question {
		if known := k.asked[key]; known.useful(now) {
			return known
		}
		if k.gathering == nil || len(k.gathering.keys) >= contactsAtOnce {
			k.gathering = &question{at: now, done: make(chan struct{})}
			k.forget(now)
			ask(k.gathering)
		}
		k.gathering.keys = append(k.gathering.keys, key)
		k.asked[key] = k.gathering
		joined = true
		return k.gathering
	}
	var answers []*question
	for _, key := range needed {
		if answer := cover(key); len(answers) == 0 || answers[len(answers)-1] != answer {
			answers = append(answers, answer)
		}
	}
	for _, key := range ahead {
		if !joined || len(k.gathering.keys) >= contactsAtOnce {
			break
		}
		cover(key)
	}
	return answers
}

// gather waits until a query is to be sent, and returns its visitors.
func (k *contacts) gather(ctx context.Context, q *question) []visitorKey {
	timer := time.NewTimer(contactsGather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gathering == q {
		k.gathering = nil
	}
	return q.keys
}

// forget drops queries that are no longer useful; the caller holds the lock.
func (k *contacts) forget(now time.Time) {
	if k.asked == nil {
		k.asked = map[visitorKey]*question{}
	}
	for key, one := range k.asked {
		if !one.useful(now) {
			delete(k.asked, key)
		}
	}
}

// visitorOf returns the visitor of a conversion.
func visitorOf(c *destination.Conversion) visitorKey {
	return visitorKey{c.EnvironmentNumber, c.Visitor}
}

// ask plans the look-up of the people of some deliveries, and of deliveries that are due next. It returns nil if the
// destination receives no data of people.
func (d *dispatcher) ask(definition *destination.Destination, items []*entry, now time.Time) []*question {
	if definition.Config.PersonFields == destination.PersonNone || definition.Kind == destination.Slack {
		return nil
	}
	needed := make([]visitorKey, len(items))
	for i, item := range items {
		needed[i] = visitorOf(&item.Conversion)
	}
	var ahead []visitorKey
	for _, item := range d.core.waiting[:min(len(d.core.waiting), contactsAtOnce)] {
		if !item.Surplus && !item.Next.After(now) {
			ahead = append(ahead, visitorOf(&item.Conversion))
		}
	}
	return d.contacts.plan(now, needed, ahead, func(q *question) {
		d.node.Workers.Go(func(ctx context.Context) { d.ports.answer(ctx, q, d.contacts.gather(ctx, q)) })
	})
}

// answer queries the store, once for each environment.
func (p *Ports) answer(ctx context.Context, q *question, keys []visitorKey) {
	defer close(q.done)
	ctx, cancel := context.WithTimeout(ctx, grain.IOTime)
	defer cancel()
	q.found = map[visitorKey]destination.Contacts{}
	visitors := map[uint64][]uint64{}
	for _, key := range keys {
		visitors[key.environment] = append(visitors[key.environment], key.visitor)
	}
	for environment, some := range visitors {
		found, err := p.Contacts.Contacts(ctx, environment, some)
		if err != nil {
			q.err = err
			return
		}
		for visitor, contacts := range found {
			q.found[visitorKey{environment, visitor}] = contacts
		}
	}
}

// contact adds the results of queries to the events of the persons.
func contact(ctx context.Context, questions []*question, send []destination.DispatchItem) error {
	for _, q := range questions {
		select {
		case <-q.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if q.err != nil {
			return q.err
		}
		for i := range send {
			if found := q.found[visitorOf(send[i].Conversion)]; len(found) > 0 {
				send[i].Contact = found.At(send[i].Conversion.At)
			}
		}
	}
	return nil
}
