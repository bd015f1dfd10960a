package alerting

import (
	"slices"
	"sync"
	"sync/atomic"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/metric"
)

// RuleIndex is this node's snapshot of the alert rules that the stream can make fire: the counters of each environment,
// and whether rules wait for new issues. It is read for every row without a lock. The alerting actors replace it when
// their rules change. An environment without such rules costs one look-up in a map; a node without any costs nothing.
type RuleIndex struct {
	sets grain.Snapshot[domain.AppRef, uint64, *envRules] // by the number of the environment

	mu sync.Mutex
	// touched lists the sets with changes to report; wake holds a token while there are any.
	touched []*envRules
	wake    chan struct{}

	missed missedApps
}

// envRules selects the rows of the stream that the rules of one environment need. The rules in it
// never change.
type envRules struct {
	app         domain.AppRef
	environment uint64
	newIssues   bool
	regressions bool
	// events and errors hold the counters by name and level; the counters of the empty word count all. points holds
	// counters by the name of a metric.
	events, errors map[string][]alert.Counter
	points         map[string][]pointCounter
	// flushSoon is set when an issue occurred that may be new, or may regress.
	flushSoon atomic.Bool
	// queued is set while the set is in touched.
	queued atomic.Bool
}

// pointCounter counts the points of a metric that have some labels.
type pointCounter struct {
	alert.Counter
	labels []metric.Label
}

// NewRuleIndex returns an empty snapshot.
func NewRuleIndex() *RuleIndex {
	return &RuleIndex{wake: make(chan struct{}, 1)}
}

// any reports whether any rule counts in the stream.
func (b *RuleIndex) any() bool { return b != nil && b.sets.Len() > 0 }

// find returns the rules of an environment, or nil.
func (b *RuleIndex) find(environment uint64) *envRules {
	if !b.any() {
		return nil
	}
	set, _ := b.sets.Find(environment)
	return set
}

// Awaited returns the application of an environment, and whether rules wait for new issues, and for
// issues that regress.
func (b *RuleIndex) Awaited(environment uint64) (app domain.AppRef, newIssues, regressions bool) {
	set := b.find(environment)
	if set == nil {
		return app, false, false
	}
	return set.app, set.newIssues, set.regressions
}

// FlushSoon makes the sink store the open block before the end of the interval.
func (b *RuleIndex) FlushSoon(environment uint64) {
	if set := b.find(environment); set != nil {
		set.flushSoon.Store(true)
		b.touch(set)
	}
}

// Publish replaces the rules of one application, unless a later version of them is known.
func (b *RuleIndex) Publish(version domain.Version, app domain.AppRef, rules []alert.Rule) {
	if b == nil {
		return
	}
	sets := map[uint64]*envRules{}
	for i := range rules {
		rule := &rules[i]
		if !rule.Enabled || !rule.Streamed() {
			continue
		}
		set := sets[rule.Number]
		if set == nil {
			set = &envRules{
				app: app, environment: rule.Number, events: map[string][]alert.Counter{}, errors: map[string][]alert.Counter{}, points: map[string][]pointCounter{},
			}
			sets[rule.Number] = set
		}
		set.want(rule)
	}
	b.sets.Replace(version, app, sets)
}

// want adds the counters of one rule.
func (s *envRules) want(rule *alert.Rule) {
	counter, word := counterOf(rule)
	switch counter.Kind {
	case alert.NewIssue:
		s.newIssues = true
		s.regressions = s.regressions || rule.ReportsRegressions()
	case alert.EventVolume:
		countWord(s.events, word, counter)
	case alert.ErrorRate:
		countWord(s.errors, word, counter)
	case alert.Metric:
		if !slices.ContainsFunc(s.points[word], func(p pointCounter) bool { return p.Counter == counter }) {
			s.points[word] = append(s.points[word], pointCounter{counter, alert.DecodeLabels(counter.Labels)})
		}
	case alert.Uptime, alert.Vital:
	}
}

// counterOf returns the counter of a rule in the stream. If no sum of blocks can answer the rule, the count only shows
// that it must be measured.
func counterOf(rule *alert.Rule) (counter alert.Counter, word string) {
	counter, _ = rule.Counter()
	if rule.Kind == alert.NewIssue {
		counter.Kind = rule.Kind
	}
	return counter, counter.Word
}

func countWord(into map[string][]alert.Counter, word string, counter alert.Counter) {
	if !slices.Contains(into[word], counter) {
		into[word] = append(into[word], counter)
	}
}

// touch queues a set with changes to report.
func (b *RuleIndex) touch(set *envRules) {
	if set.queued.Swap(true) {
		return
	}
	b.mu.Lock()
	b.touched = append(b.touched, set)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take returns the touched sets; further changes queue them again.
func (b *RuleIndex) take() []*envRules {
	b.mu.Lock()
	taken := b.touched
	b.touched = nil
	b.mu.Unlock()
	for _, set := range taken {
		set.queued.Store(false)
	}
	return taken
}

// EntityKinds returns the kinds of the entities that the snapshot is made of.
func (b *RuleIndex) EntityKinds() []string { return []string{KindRule} }

// PublishEntities publishes the rules among the entities of one owner, if it is an alerting actor. A rule that cannot
// be decoded is skipped.
func (b *RuleIndex) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	identity, version, rules, ours := grain.DecodeOwned[alert.Rule](entities, KindAlerting, KindRule, skipped)
	if !ours {
		return
	}
	app, _, _ := splitIdentity(identity + "/")
	b.Publish(version, app, rules)
}
