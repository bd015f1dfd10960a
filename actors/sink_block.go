package actors

import (
	"log/slog"
	"time"

	"svc"
	"svc/actors/attempt"
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
	// continued are the issues that go on one of the former grouping since this block.
	continued map[uint64]bool
	// hitKeys are those of the occurrences, in their order; origins are those of all rows. letters
	// are the items that could not be folded.
	hitKeys []hitKey
	origins origins
	letters []svc.DeadLetter
	logger  *slog.Logger
	rules   *Rulebook
	watch   *Watch
	// counts is what alert rules count of the block, begun when it was begun.
	counts blockCounts
	begun  time.Time
}

func (s *Sink) newBlock() *openBlock {
	return &openBlock{
		rows: s.config.Store.NewBlock(), ranges: map[int]recordRange{}, visits: map[uint64][]svc.LiveVisit{}, hits: blockHits{}, rules: s.config.Rules, watch: s.config.Watch,
		counts: blockCounts{}, begun: s.config.Now(), origins: origins{}, logger: s.config.Logger,
	}
}

// add adds what became of a record and notes who must be told of it.
func (b *openBlock) add(record recordRange, made folded) {
	for i := range made.rows {
		b.rows.Append(&made.rows[i])
		b.origins.add(svc.LetterEvent, record, made.rows[i].Item)
	}
	for i := range made.occurrences {
		row := &made.occurrences[i]
		b.rows.AppendOccurrence(row)
		b.origins.add(svc.LetterError, record, row.Item)
		b.hitKeys = append(b.hitKeys, b.hits.add(row, record.first))
	}
	for i := range made.points {
		b.rows.AppendMetric(&made.points[i])
		b.origins.add(svc.LetterPoint, record, made.points[i].Item)
	}
	b.letters = append(b.letters, made.letters...)
	attempt.Each(len(made.rows), func(n int) {
		b.gather(&made.rows[n])
		b.sawEvent(&made.rows[n])
	}, b.untold)
	attempt.Each(len(made.occurrences), func(n int) { b.sawError(&made.occurrences[n]) }, b.untold)
	attempt.Each(len(made.points), func(n int) { b.sawPoint(&made.points[n]) }, b.untold)
}

// untold says that a row is stored and nobody is told of it.
func (b *openBlock) untold(_ int, cause any) {
	b.logger.Error("counting a row for alert rules and live views panicked", "cause", cause)
}

// reset begins a block anew.
func (s *Sink) reset(b *openBlock, generation int32) {
	b.rows.Reset()
	clear(b.ranges)
	clear(b.visits)
	clear(b.hits)
	b.continued = nil
	clear(b.hitKeys)
	b.hitKeys, b.letters = b.hitKeys[:0], nil
	b.origins.reset()
	clear(b.counts)
	b.generation, b.watched, b.begun = generation, s.config.Watchers.set(), s.config.Now()
}
