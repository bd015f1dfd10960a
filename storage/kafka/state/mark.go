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

// markGroup is the group without members that the marks are positions of.
func (l *Log) markGroup() string { return l.cfg.Topic + "-projected" }

// Mark notes, for all nodes, up to which positions the log is projected: a start and a new owner
// read from there on. Marks are as durable as the log. A cluster forgets them a week after they
// were written, so they are written again at least daily; without a mark a partition is read whole.
//
// Trouble with the brokers is waited out until ctx ends.
//
// Marks are not fenced. That of an owner that is no more only repeats work: it is true, since
// the log does not change, and lower than that of its successor.
func (l *Log) Mark(ctx context.Context, marks map[int]Position) error {
	notes := make(map[int]note, len(marks))
	for partition, at := range marks {
		notes[partition] = note{at.Offset, strconv.FormatUint(uint64(at.Reign), 16)}
	}
	return l.note(ctx, l.markGroup(), notes)
}

// note is an offset of a partition with a text beside it.
type note struct {
	offset int64
	text   string
}

// note notes offsets as positions of a group without members.
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

// Marks returns the marks of all partitions, with one request. A partition without one has the
// zero Position.
func (l *Log) Marks(ctx context.Context) ([]Position, error) {
	marks := make([]Position, l.cfg.Partitions)
	err := l.notes(ctx, l.markGroup(), func(partition int, one note) {
		if reign, err := strconv.ParseUint(one.text, 16, 64); err == nil { // else it is no mark of this program
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

// Archive says that a partition holds its whole state from a barrier on: what was saved before it was
// saved again after it.
type Archive struct {
	Barrier int64
	// End is the offset after what was saved again, Bytes about its size.
	End   int64
	Bytes int64
	At    time.Time
}

// archiveGroup is the group without members that notes archives.
func (l *Log) archiveGroup() string { return l.cfg.Topic + "-archived" }

// NoteArchives notes archives for later owners; the zero Archive takes back what was noted. As with marks, what a cluster forgets only
// repeats work.
func (l *Log) NoteArchives(ctx context.Context, archives map[int]Archive) error {
	notes := make(map[int]note, len(archives))
	for partition, a := range archives {
		notes[partition] = note{a.Barrier, fmt.Sprintf("%d %d %d", a.End, a.Bytes, a.At.Unix())}
	}
	return l.note(ctx, l.archiveGroup(), notes)
}

// Archives returns the archives of all partitions. A partition without one has the zero Archive.
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

// patiently repeats what may succeed later until it does or ctx ends.
func patiently(ctx context.Context, do func() error) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		err := do()
		if err == nil || ctx.Err() != nil || !passing(err) {
			return err
		}
		pause(ctx, wait)
	}
}
