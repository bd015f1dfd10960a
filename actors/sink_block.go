package actors

import (
	"time"

	"svc"
)

// openBlock is a block that rows are added to, with whom they must be told to.
type openBlock struct {
	generation int32
	rows       Block
	ranges     map[int]recordRange
	// watched are the environments that were watched when the block was begun,
	// visits what they gathered.
	watched map[uint64]bool
	visits  map[uint64][]svc.LiveVisit
	hits    blockHits
	rules   *Rulebook
	// counts is what alert rules count of the block, begun when it was begun.
	counts blockCounts
	begun  time.Time
}

func (s *Sink) newBlock() *openBlock {
	return &openBlock{
		rows: s.config.Store.NewBlock(), ranges: map[int]recordRange{}, visits: map[uint64][]svc.LiveVisit{}, hits: blockHits{}, rules: s.config.Rules,
		counts: blockCounts{}, begun: s.config.Now(),
	}
}

// add adds rows and notes who must be told of them.
func (b *openBlock) add(rows []svc.EventRow, occurrences []svc.OccurrenceRow, points []svc.MetricRow) {
	for i := range rows {
		b.rows.Append(&rows[i])
		b.gather(&rows[i])
		b.sawEvent(&rows[i])
	}
	for i := range occurrences {
		b.rows.AppendOccurrence(&occurrences[i])
		b.hits.add(&occurrences[i])
		b.sawError(&occurrences[i])
	}
	for i := range points {
		b.rows.AppendMetric(&points[i])
		b.sawPoint(&points[i])
	}
}

// reset begins a block anew.
func (s *Sink) reset(b *openBlock, generation int32) {
	b.rows.Reset()
	clear(b.ranges)
	clear(b.visits)
	clear(b.hits)
	clear(b.counts)
	b.generation, b.watched, b.begun = generation, s.config.Watchers.set(), s.config.Now()
}
