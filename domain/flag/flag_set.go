package flag

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Entry is a flag in one environment.
type Entry struct {
	Flag *CompiledFlag

	// counts are the evaluations since they were last taken, by variant and for off.
	counts []atomic.Uint64
	// The milliseconds between which an enabled flag is evaluated; zero is no bound.
	startMs, endMs int64
	// since is the number of the first set that has the entry.
	since   uint64
	rollout int32
	enabled bool
}

// NewFlagEntry returns a compiled flag in an environment.
func NewFlagEntry(flag *CompiledFlag, state Switch) *Entry {
	entry := &Entry{Flag: flag, enabled: state.Enabled, counts: make([]atomic.Uint64, len(flag.variants)+1)}
	share, _ := hundredths(state.Rollout())
	entry.rollout = int32(share)
	if state.StartAt != nil {
		entry.startMs = state.StartAt.UnixMilli()
	}
	if state.EndAt != nil {
		entry.endMs = state.EndAt.UnixMilli()
	}
	return entry
}

// unsteady reports whether the answer may change while the entry, the question and the known data of the person are
// unchanged.
func (e *Entry) unsteady() bool {
	return e.startMs != 0 || e.endMs != 0 || len(e.Flag.needs) > 0 || e.Flag.relative
}

// Count counts an evaluation of the flag.
func (e *Entry) Count(outcome *Outcome) {
	place := int(outcome.variant)
	if place < 0 {
		place = len(e.Flag.variants)
		if e.Flag.boolean {
			place = 1 // off
		}
	}
	e.counts[place].Add(1)
}

// Take calls each with the evaluations since the last call, by variant; the empty variant is a multivariate flag that
// was off.
func (e *Entry) Take(each func(variant string, count uint64)) {
	for n := range e.counts {
		count := e.counts[n].Swap(0)
		if count == 0 {
			continue
		}
		variant := ""
		if n < len(e.Flag.variants) {
			variant = e.Flag.variants[n].key
		}
		each(variant, count)
	}
}

// Set is all flags of an application in one environment, at one revision. It is immutable except for the counts of
// its entries.
type Set struct {
	Environment string
	Revision    uint64
	Entries     []*Entry // by key

	index map[string]int
	names *Names
	// rows hold the fields that an evaluation of all entries reads, side by side.
	rows []flagRow
	// number counts the sets of a chain.
	chain  *flagChain
	number uint64
	// stored are the fields of the person that a flag may read, in order, and storedSlots their places in contexts.
	// relative says that a flag compares the age of a time.
	stored      []string
	storedSlots []int
	relative    bool
	// boundaries are the times at which switches change, in order.
	boundaries []int64
	// sampled is the second in which an unchanged answer was last counted, as Unix time.
	sampled atomic.Int64

	// mu guards text, which Text returns.
	mu   sync.Mutex
	text []byte
}

// flagRow holds the outcomes of an entry's flag and its place among the flags of the application.
type flagRow struct {
	outcomes []atomic.Pointer[Outcome]
	place    int32
}

// Text returns a text derived from the set, and encodes it on first use. If encode returns nil, the result is not
// cached.
func (s *Set) Text(encode func() []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text == nil {
		s.text = encode()
	}
	return s.text
}

// Sample reports whether an answer that the caller already has must be evaluated to be counted: one per second is.
func (s *Set) Sample(now time.Time) bool {
	last, second := s.sampled.Load(), now.Unix()
	return last != second && s.sampled.CompareAndSwap(last, second)
}

// NewFlagSet returns the set of entries, which are in the order of their keys. before is the set that it replaces, or
// nil.
func NewFlagSet(environment string, revision uint64, entries []*Entry, names *Names, before *Set) *Set {
	set := &Set{
		Environment: environment, Revision: revision, Entries: entries, names: names, index: make(map[string]int, len(entries)), chain: new(flagChain), number: 1,
		rows: make([]flagRow, len(entries)),
	}
	if before != nil && before.names.lineage == names.lineage {
		set.chain, set.number = before.chain, before.number+1
	}
	stored := map[string]struct{}{}
	for n, entry := range entries {
		set.rows[n] = flagRow{entry.Flag.outcomes, entry.Flag.place}
		if entry.since == 0 {
			entry.since = set.number
		}
		set.index[entry.Flag.Key] = n
		set.relative = set.relative || entry.Flag.relative
		for _, field := range entry.Flag.stored {
			stored[field] = struct{}{}
		}
		for _, at := range []int64{entry.startMs, entry.endMs} {
			if at != 0 {
				set.boundaries = append(set.boundaries, at)
			}
		}
	}
	slices.Sort(set.boundaries)
	set.stored = slices.Sorted(maps.Keys(stored))
	for _, field := range set.stored {
		set.storedSlots = append(set.storedSlots, names.index[contextName(field)])
	}
	return set
}

// Entry returns the entry of a key, or nil.
func (s *Set) Entry(key string) *Entry {
	if n, found := s.index[key]; found {
		return s.Entries[n]
	}
	return nil
}

// Index returns the place of a flag among the entries.
func (s *Set) Index(key string) (n int, found bool) {
	n, found = s.index[key]
	return n, found
}

// Personal reports whether an answer may depend on stored data of the person.
func (s *Set) Personal() bool { return len(s.stored) > 0 }

// Asks reports whether a flag may need stored data of the person that the context does not contain.
func (s *Set) Asks(context *Context) bool {
	return slices.ContainsFunc(s.storedSlots, func(slot int) bool { return context.slots[slot].kind == valueAbsent })
}

// Stamp differs if the data of a person that the flags may read differs.
func (s *Set) Stamp(person *Person) uint64 { return person.stamp(s.stored) }

// Relative reports whether an answer may change at any time while Revision, Epoch and the person are unchanged, because
// a condition compares the age of a time.
func (s *Set) Relative() bool { return s.relative }

// Epoch counts the switches that changed by time: like a new revision, a new epoch changes answers.
func (s *Set) Epoch(now time.Time) int {
	if len(s.boundaries) == 0 {
		return 0
	}
	at, found := slices.BinarySearch(s.boundaries, now.UnixMilli())
	for found && at < len(s.boundaries) && s.boundaries[at] <= now.UnixMilli() {
		at++
	}
	return at
}

// Timed reports whether switches change with time.
func (s *Set) Timed() bool { return len(s.boundaries) > 0 }

// maxPrerequisiteDepth limits the depth of prerequisites, which have no cycles.
const maxPrerequisiteDepth = 32

// Evaluate answers a flag for a context: the one function behind all protocols. The order is archived, disabled,
// prerequisites, the first matching rule, the rollout, the weights of variants.
func (s *Set) Evaluate(entry *Entry, context *Context) *Outcome {
	return s.evaluate(entry, context, 0)
}

func (s *Set) evaluate(entry *Entry, context *Context, depth int) *Outcome {
	f := entry.Flag
	switch {
	case f.archived:
		return f.outcome(outcomeArchived)
	case !entry.enabled || entry.startMs != 0 && context.nowMs < entry.startMs || entry.endMs != 0 && context.nowMs >= entry.endMs:
		return f.outcome(outcomeDisabled)
	}
	met, guessed := s.needsMet(f, context, depth)
	if !met {
		return f.outcome(outcomePrerequisite)
	}
	for n := range f.rules {
		rule := &f.rules[n]
		switch f.judge(rule, context) {
		case holds:
			rollout := int(entry.rollout)
			if rule.rollout >= 0 {
				rollout = int(rule.rollout)
			}
			return f.serve(n, rule, rollout, guessed, context)
		case unknown:
			guessed = true
		case fails, unjudged:
		}
	}
	return f.fallthroughTo(int(entry.rollout), guessed, context)
}

// serve answers with a matching rule; guessed says that an earlier rule may match once the person is known.
func (f *CompiledFlag) serve(n int, rule *compiledRule, rollout int, guessed bool, context *Context) *Outcome {
	variant := len(f.variants)
	if f.within(rollout, context) {
		if variant = int(rule.variant); variant < 0 {
			variant = f.draw(context)
		}
	}
	if guessed {
		return f.guess(variant)
	}
	return f.ruled(n, variant)
}

// fallthroughTo answers if no rule matched; guessed says that a rule could not be judged.
func (f *CompiledFlag) fallthroughTo(rollout int, guessed bool, context *Context) *Outcome {
	on := f.within(rollout, context)
	switch {
	case guessed && !on:
		return f.guess(len(f.variants))
	case !on:
		return f.outcome(outcomeOff)
	case guessed:
		return f.guess(f.draw(context))
	case f.boolean && rollout == fullWeight:
		return f.general(byDefault, f.draw(context))
	}
	return f.general(byRollout, f.draw(context))
}

// within reports whether the caller is in a rollout of hundredths of a percent. It computes no place for a rollout of
// all or none.
func (f *CompiledFlag) within(rollout int, context *Context) bool {
	switch rollout {
	case 0:
		return false
	case fullWeight:
		return true
	}
	return f.bucket(rolloutDraw, context) < rollout
}

// draw returns the index of the caller's variant by the weights; on for a boolean flag.
func (f *CompiledFlag) draw(context *Context) int {
	if f.sole >= 0 {
		return int(f.sole)
	}
	bucket := f.bucket(variantDraw, context)
	for n := range f.variants {
		if bucket < f.variants[n].below {
			return n
		}
	}
	return len(f.variants) - 1 // the weights total 100, so a variant was found
}

// bucketID returns the id that a rollout uses. Only the caller's own data counts, so that every node and every protocol
// has the same id.
func (f *CompiledFlag) bucketID(context *Context) string {
	if f.bucketSlot >= 0 {
		if text, ok := context.slots[f.bucketSlot].Text(); ok && text != "" {
			return text
		}
	}
	return context.DistinctID
}

// needsMet reports whether the prerequisites of a flag are met; guessed says that one of them may fail once the person
// is known.
func (s *Set) needsMet(f *CompiledFlag, context *Context, depth int) (met, guessed bool) {
	for n := range f.needs {
		other := s.Entry(f.needs[n].Flag)
		if other == nil || depth >= maxPrerequisiteDepth {
			return false, false
		}
		outcome := s.evaluate(other, context, depth+1)
		if outcome.flag.archived || outcome.Variant() != f.needs[n].Variant {
			return false, false
		}
		guessed = guessed || outcome.reason == PersonUnknown
	}
	return true, guessed
}

func (f *CompiledFlag) judge(rule *compiledRule, context *Context) verdict {
	result := holds
	for _, place := range f.conditions[rule.from:rule.to] {
		switch context.judge(place) {
		case fails:
			return fails
		case unknown:
			result = unknown
		case holds, unjudged:
		}
	}
	return result
}

// RuleVerdict is the verdict on a rule for a context: matched, failed or unknown.
type RuleVerdict struct {
	Rule    string
	Verdict string
}

// Explain returns the verdict on each rule of a flag, up to the deciding one.
func (s *Set) Explain(entry *Entry, context *Context) (verdicts []RuleVerdict) {
	for n := range entry.Flag.rules {
		rule, id := &entry.Flag.rules[n], entry.Flag.ruleIDs[n]
		switch entry.Flag.judge(rule, context) {
		case holds:
			return append(verdicts, RuleVerdict{id, "matched"})
		case unknown:
			verdicts = append(verdicts, RuleVerdict{id, "unknown"})
		case fails, unjudged:
			verdicts = append(verdicts, RuleVerdict{id, "failed"})
		}
	}
	return verdicts
}

// BucketID returns the id of a context that the flag's rollout uses.
func (e *Entry) BucketID(context *Context) string { return e.Flag.bucketID(context) }
