package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/protos"
)

// origin is the origin of a row: the record, and the index of its item among the items of its kind.
type origin struct {
	partition int32
	item      int32
	offset    int64
}

// origins are the origins of the rows of a block, in the order of the rows of each kind.
type origins struct{ events, occurrences, points, billings []origin }

// of returns the origins of the rows of a kind.
func (o *origins) of(kind ingest.LetterKind) *[]origin {
	switch kind {
	case ingest.LetterError:
		return &o.occurrences
	case ingest.LetterPoint:
		return &o.points
	case ingest.LetterBilling:
		return &o.billings
	case ingest.LetterEvent, ingest.LetterRecord:
	}
	return &o.events
}

// add adds the origins of the rows of one record.
func (o *origins) add(record recordRange, rows *ingest.Rows) {
	rows.Each(func(kind ingest.LetterKind, item int) {
		of := o.of(kind)
		*of = append(*of, origin{int32(record.partition), int32(item), record.first})
	})
}

// reset removes all origins and reuses the memory.
func (o *origins) reset() {
	o.events, o.occurrences, o.points, o.billings = o.events[:0], o.occurrences[:0], o.points[:0], o.billings[:0]
}

// without removes rows from the block.
func (b *openBlock) without(refused []ingest.RefusedRow) {
	rows := map[ingest.LetterKind][]int{}
	for _, r := range refused {
		rows[r.Kind] = append(rows[r.Kind], r.Row)
	}
	for kind, places := range rows {
		slices.Sort(places)
		b.rows.Without(kind, places)
		of := b.origins.of(kind)
		for _, place := range slices.Backward(places) {
			*of = slices.Delete(*of, place, place+1)
		}
		b.each("at refused rows", func(listener BlockListener) { listener.Refused(kind, places) })
	}
}

// sift parks the rows of a block that the store refuses, and removes them from the block. It returns false if there are
// none: then the store is to blame. A block that is made again loses the same rows. The rest is stored under the token
// of the whole block, so the step at which a crash happens does not matter.
func (s *Sink) sift(ctx context.Context, block *openBlock) (bool, error) {
	refused, err := s.config.Store.Sift(ctx, block.id, block.rows)
	if err != nil || len(refused) == 0 {
		return false, err
	}
	letters, err := s.lettersOf(ctx, block, refused)
	if err != nil {
		return false, err
	}
	if err := s.park(ctx, block.id, letters); err != nil {
		return false, err
	}
	block.without(refused)
	return true, nil
}

// lettersOf reads the items of refused rows from the log.
func (s *Sink) lettersOf(ctx context.Context, block *openBlock, refused []ingest.RefusedRow) ([]ingest.DeadLetter, error) {
	letters, read := make([]ingest.DeadLetter, 0, len(refused)), map[[2]int64][]byte{}
	for _, r := range refused {
		from := (*block.origins.of(r.Kind))[r.Row]
		key := [2]int64{int64(from.partition), from.offset}
		value, known := read[key]
		if !known {
			records, err := s.config.Records.Read(ctx, int(from.partition), from.offset, from.offset)
			if err != nil || len(records) != 1 {
				return nil, errors.Join(fmt.Errorf("reading a record of refused rows: %d records", len(records)), err)
			}
			value = records[0].Value
			read[key] = value
		}
		letters = append(letters, letterOf(r.Kind, value, int(from.item), ingest.DeadLetter{
			Block: block.id, Partition: int(from.partition), Offset: from.offset, At: s.config.Now(), Reason: r.Reason,
		}))
	}
	return letters, nil
}

// letterOf adds an item of a record to a letter.
func letterOf(kind ingest.LetterKind, record []byte, item int, letter ingest.DeadLetter) ingest.DeadLetter {
	letter.Kind, letter.Item = kind, item
	letter.Payload = bytes.Clone(protos.ItemOf(record, fieldOf(kind), item))
	letter.Environment = protos.EnvironmentOf(letter.Payload)
	return letter
}

// fieldOf returns the field of a record that holds the items of a kind.
func fieldOf(kind ingest.LetterKind) protos.Field {
	switch kind {
	case ingest.LetterError:
		return protos.OccurrenceField
	case ingest.LetterPoint:
		return protos.PointField
	case ingest.LetterBilling:
		return protos.BillingField
	case ingest.LetterEvent, ingest.LetterRecord:
	}
	return protos.EventField
}

// park stores the dead letters of a block and logs them.
func (s *Sink) park(ctx context.Context, id uint64, letters []ingest.DeadLetter) error {
	for i := range letters {
		letters[i].Block = id
		if letters[i].At.IsZero() {
			letters[i].At = s.config.Now()
		}
	}
	if err := s.config.Store.Park(ctx, letters); err != nil {
		return fmt.Errorf("parking dead letters: %w", err)
	}
	told := map[uint64]int{}
	for i := range letters {
		l := &letters[i]
		s.config.Metrics.Letters.WithLabelValues(string(l.Kind)).Inc()
		if told[l.Environment]++; told[l.Environment] == 1 {
			s.config.Logger.Error("an item became a dead letter", "letter", l.ID(), "kind", l.Kind, "environment", l.Environment, "reason", l.Reason)
		}
	}
	s.config.Logger.Error("items became dead letters; see svc admin deadletters", "letters", len(letters), "environments", len(told))
	return nil
}

// DeadLetterStore stores dead letters.
type DeadLetterStore interface {
	CountLetters(ctx context.Context) ([]ingest.LetterCount, error)
	ListLetters(ctx context.Context, environment uint64, limit int) ([]ingest.LetterRow, error)
	// Letters returns waiting letters with their ids; letters that do not wait are missing.
	Letters(ctx context.Context, ids []string) ([]ingest.DeadLetter, []string, error)
	EndLetters(ctx context.Context, letters []ingest.DeadLetter, ids []string, end ingest.LetterEnd) error
}

// DeadLetterLog accepts letters that are sent again.
type DeadLetterLog interface {
	Produce(ctx context.Context, parts []event.Part) error
}

// DeadLetters lists, replays and drops dead letters for operators.
type DeadLetters struct {
	Store DeadLetterStore
	Log   DeadLetterLog
	// Place returns the application and the environment of a number; both are empty if the number is unknown.
	Place func(environment uint64) (app, env string)
	// Shape is the division of the log; Now is the clock.
	Shape domain.LogShape
	Now   func() time.Time
}

// lettersShown bounds a list.
const lettersShown = 1000

// Count returns the number of waiting letters by environment and kind, the highest first.
func (l *DeadLetters) Count(ctx context.Context) ([]ingest.LetterCount, error) {
	counts, err := l.Store.CountLetters(ctx)
	for i := range counts {
		counts[i].App, counts[i].Env = l.Place(counts[i].Environment)
	}
	return counts, err
}

// List returns the newest waiting letters of one environment, or of all environments for 0.
func (l *DeadLetters) List(ctx context.Context, environment uint64) ([]ingest.LetterRow, error) {
	rows, err := l.Store.ListLetters(ctx, environment, lettersShown)
	for i := range rows {
		rows[i].App, rows[i].Env = l.Place(rows[i].Environment)
	}
	return rows, err
}

// Show returns a waiting letter.
func (l *DeadLetters) Show(ctx context.Context, id string) (ingest.DeadLetter, error) {
	letters, _, err := l.Store.Letters(ctx, []string{id})
	if err != nil {
		return ingest.DeadLetter{}, err
	}
	if len(letters) == 0 {
		return ingest.DeadLetter{}, domain.Errorf(domain.CodeNotFound, "No dead letter %s waits.", id)
	}
	return letters[0], nil
}

// Replay sends letters through the log and the fold again. Drop gives them up. Both return the number of letters; they
// skip letters that do not wait. If the first replay of a letter could not be noted and it is replayed again, it counts
// once.
func (l *DeadLetters) Replay(ctx context.Context, ids []string) (int, error) {
	letters, found, err := l.Store.Letters(ctx, ids)
	if err != nil {
		return 0, err
	}
	for i := range letters {
		payload, err := protos.Readdressed(letters[i].Payload, found[i])
		if err != nil {
			return i, fmt.Errorf("reading the dead letter %s: %w", found[i], err)
		}
		if err := l.Log.Produce(ctx, []event.Part{{Partition: letters[i].Partition, Payload: payload}}); err != nil {
			return i, fmt.Errorf("sending the dead letter %s: %w", found[i], err)
		}
		if err := l.Store.EndLetters(ctx, letters[i:i+1], found[i:i+1], ingest.LetterReplayed); err != nil {
			return i, err
		}
	}
	return len(letters), nil
}

// Drop gives letters up; see Replay.
func (l *DeadLetters) Drop(ctx context.Context, ids []string) (int, error) {
	letters, found, err := l.Store.Letters(ctx, ids)
	if err != nil || len(letters) == 0 {
		return 0, err
	}
	for i := range letters {
		if err := l.giveUp(ctx, &letters[i], found[i]); err != nil {
			return 0, err
		}
	}
	return len(letters), l.Store.EndLetters(ctx, letters, found, ingest.LetterDropped)
}

// giveUp moves a letter from the count of waiting letters to the count of dropped ones. The tally that does this is
// named after the letter, so it counts once however often it is sent.
func (l *DeadLetters) giveUp(ctx context.Context, letter *ingest.DeadLetter, id string) error {
	var record protos.Record
	if readable := letter.Kind != ingest.LetterRecord && record.UnmarshalVTUnsafe(letter.Payload) == nil; !readable {
		return nil // the environment of its items is unknown, and they were not counted
	}
	var receivedMs int64
	switch {
	case len(record.Events) > 0:
		receivedMs = record.Events[0].ReceivedMs
	case len(record.Occurrences) > 0:
		receivedMs = record.Occurrences[0].ReceivedMs
	case len(record.Points) > 0:
		receivedMs = record.Points[0].ReceivedMs
	case len(record.Billings) > 0:
		receivedMs = record.Billings[0].ReceivedMs
	}
	move := func(fate ingest.Fate, items int64) *protos.TallyCount {
		return &protos.TallyCount{Environment: letter.Environment, Day: ingest.DayOf(receivedMs), Signal: string(ingest.LetterSignal(letter.Kind)), Fate: string(fate), Items: items}
	}
	source := "letter-" + id
	tally := &protos.Tally{Source: source, Seq: 1, AtMs: l.Now().UnixMilli(), Counts: []*protos.TallyCount{move(ingest.FateDeadLetter, -1), move(ingest.FateGivenUp, 1)}}
	payload, err := (&protos.Record{Tallies: []*protos.Tally{tally}}).MarshalVT()
	if err != nil {
		return fmt.Errorf("encoding the end of the dead letter %s: %w", id, err)
	}
	if err := l.Log.Produce(ctx, []event.Part{{Partition: l.Shape.Of(letter.Environment, protos.PartitionOfTally(source, l.Shape.Partitions)), Payload: payload}}); err != nil {
		return fmt.Errorf("counting the end of the dead letter %s: %w", id, err)
	}
	return nil
}
