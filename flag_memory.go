package svc

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// Sizes of a FlagMemory: with the flags of an application at MaxFlags it holds 41 MB at most.
const (
	keptAnswers   = 8192
	answersAPlace = 8
	seenQuestions = 2 * keptAnswers
	maxQuestion   = 1024 // bytes
	// A full place lets every eighth newcomer in, so that of a few more people than it holds most are remembered, and not nobody.
	admitted = 8
)

// FlagMemory remembers which outcomes flags had for whoever asks for many of them again with the same words: a hash for each flag
// is most of what evaluating all of them costs. Only who comes again is remembered, and others take the memory over. It takes no lock.
type FlagMemory struct {
	seed maphash.Seed
	// seen holds the hash of the question that came last, kept the answers that are remembered, both at the place of that hash.
	seen [seenQuestions]atomic.Uint64
	kept [keptAnswers / answersAPlace]keptPlace
}

// keptPlace holds the answers of one place; came counts those that wanted to be there.
type keptPlace struct {
	answers [answersAPlace]atomic.Pointer[FlagAnswer]
	came    atomic.Uint32
}

// NewFlagMemory returns a memory of nobody.
func NewFlagMemory() *FlagMemory { return &FlagMemory{seed: maphash.MakeSeed()} }

// FlagQuestion is all that an answer depends on beside the flags and the time.
type FlagQuestion struct {
	Environment uint64
	// Surface is the protocol in which Text is read.
	Surface int
	Text    []byte
	// Person is what the node knows of the person.
	Person *FlagPerson
}

// FlagAnswer is the outcomes of a question. It never changes, but that it is noted.
type FlagAnswer struct {
	// Noted is for who asks: whether what follows from the answer has been done.
	Noted atomic.Bool

	hash, environment, stamp uint64
	surface                  int
	text                     string
	// chain and number are those of the set that was evaluated, epoch is that of the set at the time.
	chain  *flagChain
	number uint64
	epoch  int
	// outcomes are their places plus one, by the places of flags; zero where the flag was not asked for.
	outcomes []uint16
}

// flagChain is what the sets of an environment have in common while places stay. It has a size, so that two of them differ.
type flagChain struct{ _ byte }

// FlagRecall is what is remembered of a question.
type FlagRecall struct {
	// Answer is what was answered before, nil where that is not known.
	Answer *FlagAnswer
	// Whole says that all of it holds still.
	Whole bool

	memory *FlagMemory
	hash   uint64
	again  bool
}

// Recall looks for what a question about a set was answered before.
func (m *FlagMemory) Recall(set *FlagSet, question *FlagQuestion, now time.Time) (recall FlagRecall) {
	if len(question.Text) > maxQuestion {
		return recall
	}
	recall.memory, recall.hash = m, maphash.Bytes(m.seed, question.Text)
	stamp := set.Stamp(question.Person)
	place := &m.kept[recall.hash%uint64(len(m.kept))]
	for n := range place.answers {
		a := place.answers[n].Load()
		if a == nil || a.hash != recall.hash || a.chain != set.chain || a.environment != question.Environment || a.surface != question.Surface || a.stamp != stamp || a.text != string(question.Text) {
			continue
		}
		recall.Answer, recall.Whole = a, a.number == set.number && a.epoch == set.Epoch(now) && !set.relative
		return recall
	}
	recall.again = m.seen[recall.hash%seenQuestions].Swap(recall.hash) == recall.hash
	return recall
}

// Outcome returns what the flag of an entry of the set answered, nil where it may answer something else now.
func (r *FlagRecall) Outcome(set *FlagSet, n int) *FlagOutcome {
	if r.Answer == nil {
		return nil
	}
	if entry := set.Entries[n]; !r.Whole && (entry.since > r.Answer.number || entry.unsteady()) {
		return nil
	}
	row := &set.rows[n]
	if place := int(row.place); place < len(r.Answer.outcomes) && r.Answer.outcomes[place] != 0 {
		return row.outcomes[r.Answer.outcomes[place]-1].Load() // it was given, so it is there
	}
	return nil
}

// Remember keeps what a question was answered now. The answer is nil where it is not kept.
func (r *FlagRecall) Remember(set *FlagSet, question *FlagQuestion, now time.Time, outcomes []*FlagOutcome) *FlagAnswer {
	if r.Answer == nil && !r.again {
		return nil
	}
	place := &r.memory.kept[r.hash%uint64(len(r.memory.kept))]
	at := len(place.answers) - 1
	for at >= 0 && place.answers[at].Load() != r.Answer { // a place that is free, where nothing is remembered of the question
		at--
	}
	if at < 0 {
		came := place.came.Add(1)
		if came%admitted != 0 {
			return nil
		}
		at = int(came / admitted % answersAPlace)
	}
	a := &FlagAnswer{
		hash: r.hash, environment: question.Environment, stamp: set.Stamp(question.Person), surface: question.Surface, text: string(question.Text),
		chain: set.chain, number: set.number, epoch: set.Epoch(now), outcomes: make([]uint16, len(set.names.flags)),
	}
	for _, outcome := range outcomes {
		a.outcomes[outcome.flag.place] = outcome.place + 1
	}
	place.answers[at].Store(a)
	return a
}
