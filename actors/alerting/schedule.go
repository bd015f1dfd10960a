package alerting

import (
	"container/heap"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/actors/pipeline"
)

// Schedule notifies actors of this node when they are due, to the millisecond. It is in memory only: when a node begins
// to own partitions, it is filled from the store, and due times depend on stored state alone.
//
// A notified actor sets its next due time. An actor that does not do so within its timeout is notified again, and that
// is counted, so a check that did not run is noticed.
type Schedule struct {
	Actors  teller
	Now     func() time.Time
	Metrics *ScheduleMetrics
	Logger  *slog.Logger

	mu      sync.Mutex
	entries map[scheduled]*appointment
	queue   appointments
	// wake holds a token once the first appointment has changed.
	wake chan struct{}
}

// teller hands messages to actors of this node.
type teller interface {
	Tell(kind, identity string, message any) error
}

type scheduled struct{ kind, identity string }

// appointment is the next notification of an actor.
type appointment struct {
	scheduled
	at      time.Time
	timeout time.Duration
	// notified is set from a notification until the actor has set its next due time.
	notified bool
	place    int
}

// due is the message to an actor that is due.
type due struct{ at time.Time }

// NewSchedule returns an empty schedule.
func NewSchedule(actors teller, now func() time.Time, metrics *ScheduleMetrics, logger *slog.Logger) *Schedule {
	return &Schedule{Actors: actors, Now: now, Metrics: metrics, Logger: logger, entries: map[scheduled]*appointment{}, wake: make(chan struct{}, 1)}
}

// Set replaces the due time of an actor. The actor must call Set again within the timeout after that time.
func (s *Schedule) Set(kind, identity string, at time.Time, patience time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := scheduled{kind, identity}
	entry := s.entries[key]
	if entry == nil {
		entry = &appointment{scheduled: key, at: at}
		s.entries[key] = entry
		heap.Push(&s.queue, entry)
	}
	entry.at, entry.timeout, entry.notified = at, patience, false
	heap.Fix(&s.queue, entry.place)
	if entry.place == 0 {
		s.signal()
	}
}

// Add calls Set for an actor that is not in the schedule; it leaves others as they are.
func (s *Schedule) Add(kind, identity string, at time.Time, patience time.Duration) {
	s.mu.Lock()
	known := s.entries[scheduled{kind, identity}] != nil
	s.mu.Unlock()
	if !known {
		s.Set(kind, identity, at, patience)
	}
}

// Remove removes an actor.
func (s *Schedule) Remove(kind, identity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(scheduled{kind, identity})
}

func (s *Schedule) remove(key scheduled) {
	if entry := s.entries[key]; entry != nil {
		heap.Remove(&s.queue, entry.place)
		delete(s.entries, key)
	}
}

// Len returns the number of scheduled actors.
func (s *Schedule) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

func (s *Schedule) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// farAway is how long an empty schedule waits.
const farAway = time.Hour

// Run notifies actors until ctx ends.
func (s *Schedule) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-timer.C:
		}
		timer.Reset(s.round())
	}
}

// round notifies the actors that are due and returns the time to the next one.
func (s *Schedule) round() time.Duration {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.mu.Unlock()
			return farAway
		}
		entry, now := s.queue[0], s.Now()
		if wait := entry.at.Sub(now); wait > 0 {
			s.mu.Unlock()
			return wait
		}
		key, at, late := entry.scheduled, entry.at, entry.notified
		entry.at, entry.notified = now.Add(entry.timeout), true
		heap.Fix(&s.queue, 0)
		s.mu.Unlock()
		if late {
			s.Metrics.Missed.Inc()
			s.Logger.Warn("an actor that was due has not answered", "kind", key.kind, "identity", key.identity)
		} else {
			s.Metrics.Late.Observe(now.Sub(at).Seconds())
		}
		if err := s.Actors.Tell(key.kind, key.identity, &due{at}); err != nil {
			// Another node owns it, and schedules it.
			s.Remove(key.kind, key.identity)
		}
	}
}

// appointments is a heap with the soonest first.
type appointments []*appointment

func (a appointments) Len() int           { return len(a) }
func (a appointments) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a appointments) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push is part of heap.Interface.
func (a *appointments) Push(x any) {
	entry := x.(*appointment)
	entry.place = len(*a)
	*a = append(*a, entry)
}

// Pop is part of heap.Interface.
func (a *appointments) Pop() any {
	last := (*a)[len(*a)-1]
	(*a)[len(*a)-1] = nil
	*a = (*a)[:len(*a)-1]
	return last
}

// ScheduleMetrics are the figures of the schedule of a node.
type ScheduleMetrics struct {
	Late   prometheus.Histogram
	Missed prometheus.Counter
}

// NewScheduleMetrics registers the figures.
func NewScheduleMetrics(registerer prometheus.Registerer) *ScheduleMetrics {
	m := &ScheduleMetrics{
		Late: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "svc_schedule_late_seconds", Help: "How long after its time an actor was told that it is due.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
		Missed: prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_schedule_missed_total", Help: "Actors that were told that they are due and did not answer in time."}),
	}
	registerer.MustRegister(m.Late, m.Missed)
	return m
}

// ScheduleLoader fills a schedule from the store whenever the node begins to own partitions.
type ScheduleLoader struct {
	Ownership *pipeline.Ownership
	// Load functions schedule the stored actors. They need not know which node owns an actor.
	Load []func(ctx context.Context) error
	// Every is the time between two checks of the ownership.
	Every  time.Duration
	Logger *slog.Logger
}

// Run fills the schedule until ctx ends.
func (f *ScheduleLoader) Run(ctx context.Context) error {
	ticker := time.NewTicker(f.Every)
	defer ticker.Stop()
	filled := int32(-1)
	for {
		if generation, owned := f.Ownership.Generation(); owned && generation != filled {
			switch err := f.load(ctx); {
			case err == nil:
				filled = generation
			case ctx.Err() == nil:
				f.Logger.Warn("filling the schedule failed", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (f *ScheduleLoader) load(ctx context.Context) error {
	for _, load := range f.Load {
		if err := load(ctx); err != nil {
			return err
		}
	}
	return nil
}
