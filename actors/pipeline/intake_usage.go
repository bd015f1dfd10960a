package pipeline

import (
	"slices"
	"strings"

	"svc/domain/ingest"
	"svc/protos"
)

// The intake counts the fates of the items that it folds. It also adds the tallies in the log, which count items that
// never entered the log. Counts are rows of the block, so they are stored exactly as often as the rows they count.

// counted holds the fields of an item by which it is counted.
type counted struct {
	environment uint64
	receivedMs  int64
	size        int
	// letter is the id of the dead letter that was replayed; empty for an item from a client.
	letter string
}

// count adds an item to the count of its fate. An item of a dead letter was received before: it moves from the count of
// dead letters to the count of its fate. If it became a dead letter again, or repeats another replay, the counts do not
// change.
func (i *Intake) count(signal ingest.Signal, fate ingest.Fate, item counted) {
	one := ingest.UsageCount{
		UsageKey: ingest.UsageKey{Environment: item.environment, Day: ingest.DayOf(item.receivedMs), Signal: signal, Fate: fate}, Items: 1, Last: item.receivedMs,
	}
	if fate == ingest.FateStored {
		one.Bytes = int64(item.size)
	}
	if item.letter != "" {
		if fate == ingest.FateDuplicate || fate == ingest.FateDeadLetter {
			return
		}
		left := one
		left.Fate, left.Items, left.Bytes = ingest.FateDeadLetter, -1, 0
		i.Counts.Add(left)
	}
	i.Counts.Add(one)
}

func countedEvent(e *protos.Event) counted {
	return counted{e.Environment, e.ReceivedMs, e.SizeVT(), e.Letter}
}

func countedOccurrence(o *protos.Occurrence) counted {
	return counted{o.Environment, o.ReceivedMs, o.SizeVT(), o.Letter}
}

func countedPoint(p *protos.MetricPoint) counted {
	return counted{p.Environment, p.ReceivedMs, p.SizeVT(), p.Letter}
}

func countedBilling(b *protos.Billing) counted {
	return counted{b.Environment, b.ReceivedMs, b.SizeVT(), b.Letter}
}

// countedItem returns the fields of an item of the record by which it is counted.
func (i *Intake) countedItem(kind ingest.LetterKind, n int) counted {
	switch kind {
	case ingest.LetterError:
		return countedOccurrence(i.record.Occurrences[n])
	case ingest.LetterPoint:
		return countedPoint(i.record.Points[n])
	case ingest.LetterBilling:
		return countedBilling(i.record.Billings[n])
	case ingest.LetterEvent, ingest.LetterRecord:
	}
	return countedEvent(i.record.Events[n])
}

// tallyTime is how long the last tally of a source is remembered, in milliseconds. A source repeats a tally for a few
// minutes at most.
const tallyTime = int64(DuplicateWindow / 1e6)

// foldTally adds the counts of a tally, unless it is a repetition.
func (i *Intake) foldTally(tally *protos.Tally) {
	if known, seen := i.sources[tally.Source]; seen && tally.Seq <= known.Seq {
		return
	}
	mark := ingest.TallyMark{Source: strings.Clone(tally.Source), Seq: tally.Seq, AtMs: tally.AtMs}
	i.sources[mark.Source] = mark
	i.Tallies = append(i.Tallies, mark)
	for _, count := range tally.Counts {
		signal, fate := ingest.Signal(count.Signal), ingest.Fate(count.Fate)
		at, which := slices.Index(ingest.Signals(), signal), slices.Index(ingest.Fates(), fate)
		if at < 0 || which < 0 {
			continue // of a later version
		}
		i.Counts.Add(ingest.UsageCount{
			UsageKey: ingest.UsageKey{
				Environment: count.Environment, Day: count.Day, Signal: ingest.Signals()[at], Fate: ingest.Fates()[which], Code: strings.Clone(count.Code),
			},
			Items: count.Items, Bytes: count.Bytes, Last: count.LastMs,
		})
	}
	i.forgetTallies(tally.AtMs)
}

// maxTallySources is the number of remembered sources from which sources without recent tallies are dropped.
const maxTallySources = 4096

// forgetTallies drops the sources that have sent nothing for tallyTime.
func (i *Intake) forgetTallies(nowMs int64) {
	if len(i.sources) < maxTallySources {
		return
	}
	for source, mark := range i.sources {
		if mark.AtMs < nowMs-tallyTime {
			delete(i.sources, source)
		}
	}
}
