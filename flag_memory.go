package svc

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"
	"time"
)

// Sizes of a FlagMemory: with the flags of an application at MaxFlags it holds 34 MB at most.
const (
	keptAnswers   = 8192
	answersAPlace = 8
	seenQuestions = 2 * keptAnswers
	// A full place lets every eighth newcomer in, so that of a few more people than it holds most are remembered, and not nobody.
	admitted = 8
)

// FlagMemory remembers which outcomes flags had for whoever asks for many of them again with the same words: a hash for each flag
// is most of what evaluating all of them costs. Only who comes again is remembered, and others take the memory over. Of the words, which
// tell of a person, only the hash is kept. It takes no lock. The zero value remembers nobody.
type FlagMemory struct {
	// seen holds the hash of the question that came last, kept the answers that are remembered, both at the place of that hash.
	seen [seenQuestions]atomic.Uint64
	kept [keptAnswers / answersAPlace]keptPlace
}

// keptPlace holds the answers of one place; came counts those that wanted to be there.
type keptPlace struct {
	answers [answersAPlace]atomic.Pointer[FlagAnswer]
	came    atomic.Uint32
}

// FlagQuestion is all that an answer depends on beside the flags and the time.
type FlagQuestion struct {
	Environment uint64
	// Surface is the protocol in which Text is read.
	Surface int
	Text    []byte
	// Person holds the stored fields of the person that this node knows, nil where it knows none.
	Person *FlagPerson
}

// FlagAnswer is the outcomes of a question. It never changes, but that it is noted.
type FlagAnswer struct {
	// Noted is for who asks: whether what follows from the answer has been done.
	Noted atomic.Bool

	text               [sha256.Size]byte
	environment, stamp uint64
	surface            int
	// chain and number are those of the set that was evaluated, epoch is that of the set at the time.
	chain  *flagChain
	number uint64
	epoch  int
	// outcomes are their places plus one, by the places of flags; zero where the flag was not asked for.
	outcomes []uint16
}

// flagChain identifies the successive sets of one environment whose flags keep their places. It has a size, so that two of them have
// different addresses.
type flagChain struct{ _ byte }

// FlagRecall is the result of looking a question up in a memory.
type FlagRecall struct {
	// Answer is the remembered answer, nil where there is none.
	Answer *FlagAnswer
	// Whole says that every outcome of Answer is still valid.
	Whole bool

	memory *FlagMemory
	text   [sha256.Size]byte
	again  bool
}

// place returns where the memory has the answers to questions of a hash.
func (r *FlagRecall) place() *keptPlace {
	return &r.memory.kept[binary.LittleEndian.Uint64(r.text[:])%uint64(len(r.memory.kept))]
}

// Recall looks for what a question about a set was answered before.
func (m *FlagMemory) Recall(set *FlagSet, question *FlagQuestion, now time.Time) FlagRecall {
	recall := FlagRecall{memory: m, text: sha256.Sum256(question.Text)}
	stamp, place := set.Stamp(question.Person), recall.place()
	for n := range place.answers {
		a := place.answers[n].Load()
		if a == nil || a.text != recall.text || a.chain != set.chain || a.environment != question.Environment || a.surface != question.Surface || a.stamp != stamp {
			continue
		}
		recall.Answer, recall.Whole = a, a.number == set.number && a.epoch == set.Epoch(now) && !set.relative
		return recall
	}
	number := binary.LittleEndian.Uint64(recall.text[:])
	recall.again = m.seen[number%seenQuestions].Swap(number) == number
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
	place := r.place()
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
		text: r.text, environment: question.Environment, stamp: set.Stamp(question.Person), surface: question.Surface,
		chain: set.chain, number: set.number, epoch: set.Epoch(now), outcomes: make([]uint16, len(set.names.flags)),
	}
	for _, outcome := range outcomes {
		a.outcomes[outcome.flag.place] = outcome.place + 1
	}
	place.answers[at].Store(a)
	return a
}
