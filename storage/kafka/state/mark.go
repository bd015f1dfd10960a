package state

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// markGroup is the group without members that stores the marks as positions.
func (l *Log) markGroup() string { return l.cfg.Topic + "-projected" }

// Mark stores, for all nodes, the positions up to which the log is projected. After a start, and after a change of
// owners, reading begins there. Marks are as durable as the log. A cluster forgets a mark a week after it was written,
// so marks must be rewritten at least daily; without a mark the whole partition is read.
//
// Mark retries after broker errors until ctx ends.
//
// Marks are not fenced. A mark of a former owner only repeats work: it stays correct, since the log does not change,
// and it is lower than the successor's mark.
func (l *Log) Mark(ctx context.Context, marks map[int]Position) error {
	notes := make(map[int]note, len(marks))
	for partition, at := range marks {
		notes[partition] = note{at.Offset, strconv.FormatUint(uint64(at.Reign), 16)}
	}
	return l.note(ctx, l.markGroup(), notes)
}

// note is an offset of a partition with a text.
type note struct {
	offset int64
	text   string
}

// note stores offsets as positions of a group without members.
func (l *Log) note(ctx context.Context, group string, notes map[int]note) error {
	if len(notes) == 0 {
		return nil
	}
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = l.cfg.Topic
	for partition, one := range notes {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = int32(partition), one.offset, &one.text
		topic.Partitions = append(topic.Partitions, p)
	}
	request := kmsg.NewPtrOffsetCommitRequest()
	request.Group, request.Generation, request.Topics = group, -1, []kmsg.OffsetCommitRequestTopic{topic}
	return patiently(ctx, func() error {
		answer, err := l.client.Request(ctx, request)
		if err != nil {
			return fmt.Errorf("noting what is projected: %w", err)
		}
		for _, t := range answer.(*kmsg.OffsetCommitResponse).Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return fmt.Errorf("noting what is projected of partition %d: %w", p.Partition, err)
				}
			}
		}
		return nil
	})
}

// Marks returns the marks of all partitions with one request. A partition without a mark has the zero Position.
func (l *Log) Marks(ctx context.Context) ([]Position, error) {
	marks := make([]Position, l.cfg.Partitions)
	err := l.notes(ctx, l.markGroup(), func(partition int, one note) {
		if reign, err := strconv.ParseUint(one.text, 16, 64); err == nil { // otherwise another program wrote the mark
			marks[partition] = Position{one.offset, Reign(reign)}
		}
	})
	return marks, err
}

// notes yields the positions of a group without members.
func (l *Log) notes(ctx context.Context, group string, yield func(partition int, one note)) error {
	topic := kmsg.NewOffsetFetchRequestTopic()
	topic.Topic = l.cfg.Topic
	for _, p := range l.partitions() {
		topic.Partitions = append(topic.Partitions, int32(p))
	}
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group, request.Topics = group, []kmsg.OffsetFetchRequestTopic{topic}
	return patiently(ctx, func() error {
		answer, err := l.client.Request(ctx, request)
		if err == nil {
			err = l.notesIn(answer.(*kmsg.OffsetFetchResponse), yield)
		}
		if err != nil {
			return fmt.Errorf("reading what is noted about the log of state: %w", err)
		}
		return nil
	})
}

// notesIn yields the positions in an answer.
func (l *Log) notesIn(answer *kmsg.OffsetFetchResponse, yield func(partition int, one note)) error {
	if err := kerr.ErrorForCode(answer.ErrorCode); errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
			if p.Offset >= 0 && p.Metadata != nil && int(p.Partition) < l.cfg.Partitions {
				yield(int(p.Partition), note{p.Offset, *p.Metadata})
			}
		}
	}
	return nil
}

// Archive states that a partition holds its whole state from a barrier on: all older records were saved again after it.
type Archive struct {
	Barrier int64
	// End is the offset after the records that were saved again. Bytes is their approximate size.
	End   int64
	Bytes int64
	At    time.Time
}

// archiveGroup is the group without members that stores the archives as positions.
func (l *Log) archiveGroup() string { return l.cfg.Topic + "-archived" }

// NoteArchives stores archives for later owners. The zero Archive withdraws the stored one. As with marks, a note that
// the cluster forgets only repeats work.
func (l *Log) NoteArchives(ctx context.Context, archives map[int]Archive) error {
	notes := make(map[int]note, len(archives))
	for partition, a := range archives {
		notes[partition] = note{a.Barrier, fmt.Sprintf("%d %d %d", a.End, a.Bytes, a.At.Unix())}
	}
	return l.note(ctx, l.archiveGroup(), notes)
}

// Archives returns the archives of all partitions. A partition without an archive has the zero Archive.
func (l *Log) Archives(ctx context.Context) ([]Archive, error) {
	archives := make([]Archive, l.cfg.Partitions)
	err := l.notes(ctx, l.archiveGroup(), func(partition int, one note) {
		a, at := Archive{Barrier: one.offset}, int64(0)
		if _, err := fmt.Sscan(one.text, &a.End, &a.Bytes, &at); err == nil && a.End > 0 {
			a.At = time.Unix(at, 0)
			archives[partition] = a
		}
	})
	return archives, err
}

// patiently retries do until it succeeds, fails for good, or ctx ends.
func patiently(ctx context.Context, do func() error) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		err := do()
		if err == nil || ctx.Err() != nil || !passing(err) {
			return err
		}
		pause(ctx, wait)
	}
}
