package pipeline

import (
	"sync"
	"time"

	"svc/domain/event"
)

// Progress measures the age of the oldest record in the log that this node has read but not yet stored and committed.
type Progress struct {
	mu sync.Mutex
	// marks are the records that were read, by partition, the first ones first.
	marks map[int][]progressMark
}

// progressMark is a group of records that were read together.
type progressMark struct {
	last int64
	// at is the time at which the first of them was appended to the log.
	at time.Time
}

// markGap is the least time between two separate marks of a partition.
const markGap = 20 * time.Millisecond

// Read adds records of a partition that are about to be folded.
func (p *Progress) Read(partition int, records []event.LogRecord) {
	if len(records) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.marks == nil {
		p.marks = map[int][]progressMark{}
	}
	last := records[len(records)-1].Offset
	marks := p.marks[partition]
	if n := len(marks); n > 0 && records[0].Time.Sub(marks[n-1].at) < markGap {
		marks[n-1].last = max(marks[n-1].last, last)
		return
	}
	p.marks[partition] = append(marks, progressMark{last: last, at: records[0].Time})
}

// Stored removes the records before positions that were committed.
func (p *Progress) Stored(positions []event.LogPosition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, position := range positions {
		marks := p.marks[position.Partition]
		if len(marks) == 0 {
			continue // a position may be committed without a record, also before the first one is read
		}
		done := 0
		for done < len(marks) && marks[done].last < position.Offset {
			done++
		}
		p.marks[position.Partition] = append(marks[:0], marks[done:]...)
	}
}

// Forget drops everything, since another generation reads again.
func (p *Progress) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marks = nil
}

// Age returns the age of the oldest record that is not stored, in the partitions from <= partition < to. It is 0 if all
// are stored.
func (p *Progress) Age(now time.Time, from, to int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var age time.Duration
	for partition, marks := range p.marks {
		if from <= partition && partition < to && len(marks) > 0 {
			age = max(age, now.Sub(marks[0].at))
		}
	}
	return age
}
