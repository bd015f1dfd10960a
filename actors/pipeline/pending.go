package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc/domain/event"
)

// after returns the positions after a block.
func (b *openBlock) after() []event.LogPosition {
	positions := make([]event.LogPosition, 0, len(b.ranges))
	for partition, span := range b.ranges {
		positions = append(positions, event.LogPosition{Partition: partition, Offset: span.last + 1})
	}
	return positions
}

// boundaries returns the positions before a block, each with the text that
// describes the whole block.
func (b *openBlock) boundaries(id uint64) []event.LogPosition {
	pending := pendingBlock{id: id}
	for _, span := range b.ranges {
		pending.spans = append(pending.spans, span)
	}
	slices.SortFunc(pending.spans, func(x, y recordRange) int { return x.partition - y.partition })
	text := pending.String()
	positions := make([]event.LogPosition, 0, len(pending.spans))
	for _, span := range pending.spans {
		positions = append(positions, event.LogPosition{Partition: span.partition, Offset: span.first, Metadata: text})
	}
	return positions
}

// pendingBlock is read from the text next to committed offsets: a block with an insert that may or may not have
// happened.
type pendingBlock struct {
	id    uint64
	spans []recordRange
}

// pendingVersion begins the text; digits are in base 36, which is short.
const pendingVersion = "block1"

const (
	// maxPendingText bounds the text in bytes, below the default limit of 4,096 of a Kafka cluster.
	maxPendingText = 4000
	// pendingHead is the room for the version and the number before the spans.
	pendingHead = len(pendingVersion) + 1 + 13
	// pendingGrowth is the room for the length of a span, which grows with the block: up to two billion records.
	pendingGrowth = 6
)

// pendingRoom returns the room that the span of a partition takes in the text, for any length of the span.
func pendingRoom(partition int, first int64) int {
	room := len("  ,") + pendingGrowth
	for _, number := range [...]int64{int64(partition), first} {
		for room++; number >= 36; number /= 36 {
			room++
		}
	}
	return room
}

// String returns the text that is stored.
func (p pendingBlock) String() string {
	text := []byte(pendingVersion + " ")
	text = strconv.AppendUint(text, p.id, 36)
	for _, span := range p.spans {
		for n, number := range [...]int64{int64(span.partition), span.first, span.last - span.first} {
			separator := byte(',')
			if n == 0 {
				separator = ' '
			}
			text = strconv.AppendInt(append(text, separator), number, 36)
		}
	}
	return string(text)
}

// errPendingText is the error of a text that does not describe a block.
var errPendingText = errors.New("unknown text beside a committed offset")

// parsePending reads the text of a block.
func parsePending(text string) (pendingBlock, error) {
	fields := strings.Fields(text)
	if len(fields) < 3 || fields[0] != pendingVersion {
		return pendingBlock{}, fmt.Errorf("%w: %q", errPendingText, text)
	}
	id, err := strconv.ParseUint(fields[1], 36, 64)
	if err != nil {
		return pendingBlock{}, fmt.Errorf("%w: %q", errPendingText, text)
	}
	pending := pendingBlock{id: id}
	for _, field := range fields[2:] {
		words := strings.Split(field, ",")
		if len(words) != 3 {
			return pendingBlock{}, fmt.Errorf("%w: %q", errPendingText, text)
		}
		var numbers [3]int64
		for n, word := range words {
			if numbers[n], err = strconv.ParseInt(word, 36, 64); err != nil || numbers[n] < 0 {
				return pendingBlock{}, fmt.Errorf("%w: %q", errPendingText, text)
			}
		}
		pending.spans = append(pending.spans, recordRange{int(numbers[0]), numbers[1], numbers[1] + numbers[2]})
	}
	return pending, nil
}

// verdict is the state of a pending block.
type verdict int

const (
	// nonePending: no text of the block stands next to any offset.
	nonePending verdict = iota
	// notBegun: the boundaries were not written everywhere, so the insert did not begin. The texts must be removed, and
	// the records are read as new. No partition may go past the block before all texts are gone: the block would look
	// stored.
	notBegun
	// undecided: the boundaries stand everywhere; the insert must be repeated
	// under the same token.
	undecided
	// stored: some partition was committed after the block, which happens only
	// after the insert; the others must follow.
	stored
)

// decide returns the state of a block from the positions of all partitions. Writing the positions of several partitions
// is not atomic, and after a crash several nodes commit them, each its own. So each position may be before, in, or
// after the block.
func (p pendingBlock) decide(at map[int]event.LogPosition) verdict {
	result := undecided
	carried := false
	for _, span := range p.spans {
		position := at[span.partition]
		switch {
		case position.Offset > span.last:
			result = stored
		case p.carriedBy(position):
			carried = true
		case result == undecided:
			result = notBegun
		}
	}
	if !carried {
		return nonePending
	}
	return result
}

// carriedBy reports whether a position carries the text of the block.
func (p pendingBlock) carriedBy(position event.LogPosition) bool {
	found, err := parsePending(position.Metadata)
	return err == nil && found.id == p.id
}

// pendingBlocks returns the blocks that have a text next to any of the positions, in the order of their numbers.
func pendingBlocks(positions []event.LogPosition) ([]pendingBlock, error) {
	var found []pendingBlock
	for _, position := range positions {
		if position.Metadata == "" {
			continue
		}
		block, err := parsePending(position.Metadata)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(b pendingBlock) bool { return b.id == block.id }) {
			found = append(found, block)
		}
	}
	slices.SortFunc(found, func(x, y pendingBlock) int { return cmp.Compare(x.id, y.id) })
	return found, nil
}

// resolve returns the positions of this node that carry the block's text, as they must be committed: without the text,
// and after the block if it was stored, or before it if it was not begun.
func (p pendingBlock) resolve(v verdict, positions []event.LogPosition) []event.LogPosition {
	var out []event.LogPosition
	for _, position := range positions {
		if !p.carriedBy(position) {
			continue
		}
		position.Metadata = ""
		if v == stored {
			position.Offset = p.after(position.Partition)
		}
		out = append(out, position)
	}
	return out
}

// after returns the offset after the block in one of its partitions.
func (p pendingBlock) after(partition int) int64 {
	for _, span := range p.spans {
		if span.partition == partition {
			return span.last + 1
		}
	}
	return 0
}

// partitions returns the partitions of the block's records.
func (p pendingBlock) partitions() []int {
	partitions := make([]int, 0, len(p.spans))
	for _, span := range p.spans {
		partitions = append(partitions, span.partition)
	}
	return partitions
}

// touches reports whether the block has records of one of the partitions.
func (p pendingBlock) touches(partitions []int) bool {
	return slices.ContainsFunc(p.spans, func(span recordRange) bool { return slices.Contains(partitions, span.partition) })
}
