package flag

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"
	"time"
)

// Sizes of a Memory: with the flags of an application at MaxFlags it holds 34 MB at most.
const (
	keptAnswers   = 8192
	answersAPlace = 8
	seenQuestions = 2 * keptAnswers
	// A full place admits every eighth newcomer. So if there are slightly more people than it holds, most are
	// remembered rather than none.
	admitted = 8
)

// Memory caches the outcomes of flags for callers that repeat the same request about many flags: one hash per flag
// is most of the cost of evaluating all. Only repeated requests are cached, and newer ones replace them. Of the request
// text, which may identify a person, only the hash is stored. It takes no lock. The zero value is empty.
type Memory struct {
	// seen holds the hash of the latest question, and kept the cached answers, both at the index of that hash.
	seen [seenQuestions]atomic.Uint64
	kept [keptAnswers / answersAPlace]keptPlace
}

// keptPlace holds the answers of one place; came counts the answers that competed for it.
type keptPlace struct {
	answers [answersAPlace]atomic.Pointer[Answer]
	came    atomic.Uint32
}

// Question holds everything that an answer depends on, except the flags and the time.
type Question struct {
	Environment uint64
	// Surface is the protocol of Text.
	Surface int
	Text    []byte
	// Person holds the stored fields of the person on this node, nil if it has none.
	Person *Person
}

// Answer is the outcomes of a question. It is immutable except for Noted.
type Answer struct {
	// Noted is for the caller: whether the consequences of the answer have been recorded.
	Noted atomic.Bool

	text               [sha256.Size]byte
	environment, stamp uint64
	surface            int
	// chain and number identify the evaluated set, epoch is the epoch of the set at the time.
	chain  *flagChain
	number uint64
	epoch  int
	// outcomes are the places of outcomes plus one, by the places of flags; zero if the flag was not requested.
	outcomes []uint16
}

// flagChain identifies the successive sets of one environment in which flags retain their indexes. It is not empty, so
// that two of them have different addresses.
type flagChain struct{ _ byte }

// Recall is the result of looking a question up in a memory.
type Recall struct {
	// Answer is the cached answer, or nil.
	Answer *Answer
	// Whole says that every outcome of Answer is still valid.
	Whole bool

	memory *Memory
	text   [sha256.Size]byte
	again  bool
}

// place returns the memory's place for questions with a hash.
func (r *Recall) place() *keptPlace {
	return &r.memory.kept[binary.LittleEndian.Uint64(r.text[:])%uint64(len(r.memory.kept))]
}

// Recall looks up the cached answer to a question about a set.
func (m *Memory) Recall(set *Set, question *Question, now time.Time) Recall {
	recall := Recall{memory: m, text: sha256.Sum256(question.Text)}
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

// Outcome returns the cached outcome of the flag of an entry, nil if the outcome may differ now.
func (r *Recall) Outcome(set *Set, n int) *Outcome {
	if r.Answer == nil {
		return nil
	}
	if entry := set.Entries[n]; !r.Whole && (entry.since > r.Answer.number || entry.unsteady()) {
		return nil
	}
	row := &set.rows[n]
	if place := int(row.place); place < len(r.Answer.outcomes) && r.Answer.outcomes[place] != 0 {
		return row.outcomes[r.Answer.outcomes[place]-1].Load() // the outcome was given, so it exists
	}
	return nil
}

// Remember caches the present answer to a question. It returns nil if it did not cache it.
func (r *Recall) Remember(set *Set, question *Question, now time.Time, outcomes []*Outcome) *Answer {
	if r.Answer == nil && !r.again {
		return nil
	}
	place := r.place()
	at := len(place.answers) - 1
	for at >= 0 && place.answers[at].Load() != r.Answer { // a free place, if the question has no cached answer
		at--
	}
	if at < 0 {
		came := place.came.Add(1)
		if came%admitted != 0 {
			return nil
		}
		at = int(came / admitted % answersAPlace)
	}
	a := &Answer{
		text: r.text, environment: question.Environment, stamp: set.Stamp(question.Person), surface: question.Surface,
		chain: set.chain, number: set.number, epoch: set.Epoch(now), outcomes: make([]uint16, len(set.names.flags)),
	}
	for _, outcome := range outcomes {
		a.outcomes[outcome.flag.place] = outcome.place + 1
	}
	place.answers[at].Store(a)
	return a
}
