package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"svc/domain/event"
	"svc/storage/datadir"
)

// ErrFull means that the spool has reached its size limit.
var ErrFull = errors.New("the spool is full")

// Config holds the settings of a Spool.
type Config struct {
	// Dir is the spool's own folder. It is created if missing.
	Dir string
	// MaxBytes limits the stored bytes.
	MaxBytes int64
	Logger   *slog.Logger
}

// Spool is a queue on disk. Its segments are files with ascending numbers. Only the last one is written; the others are
// only read.
type Spool struct {
	config Config
	// filled wakes Run after a write to an empty spool.
	filled chan struct{}

	mu      sync.Mutex
	file    *os.File
	number  int
	written int64
	total   int64
	scratch []byte

	// forced is the position up to which everything is certainly on disk.
	forced place

	// force is held by the one caller that syncs the file to disk.
	force sync.Mutex
}

// Open opens a spool. It includes the segments that an earlier process left.
func Open(config Config) (*Spool, error) {
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the spool's folder: %w", err)
	}
	s := &Spool{config: config, filled: make(chan struct{}, 1)}
	segments, err := s.segments()
	if err != nil {
		return nil, err
	}
	for _, segment := range segments {
		info, err := os.Stat(segment)
		if err != nil {
			return nil, fmt.Errorf("looking at a segment of the spool: %w", err)
		}
		s.total += info.Size()
		if _, err := fmt.Sscanf(filepath.Base(segment), segmentName, &s.number); err != nil {
			return nil, fmt.Errorf("reading the name of the segment %s: %w", segment, err)
		}
	}
	if len(segments) > 0 {
		s.wake()
	}
	return s, nil
}

// segmentBytes is the size after which a new segment begins. A segment is read whole.
const segmentBytes = 16 << 20

// segmentName is the format of segment names. They sort like their numbers.
const segmentName = "%012d.spool"

func (s *Spool) path(number int) string {
	return filepath.Join(s.config.Dir, fmt.Sprintf(segmentName, number))
}

// segments lists the files, the oldest first.
func (s *Spool) segments() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(s.config.Dir, "*.spool"))
	if err != nil {
		return nil, fmt.Errorf("listing the spool: %w", err)
	}
	slices.Sort(files)
	return files, nil
}

// Bytes returns the number of waiting bytes on disk.
func (s *Spool) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Append stores parts. They are on disk when it returns nil. It returns ErrFull or an error of the disk. After an error
// of the disk the parts may or may not be stored. Concurrent callers share one sync.
func (s *Spool) Append(parts []event.Part) error {
	file, at, err := s.write(parts)
	if err != nil {
		return err
	}
	s.force.Lock()
	defer s.force.Unlock()
	done, reached := s.reached(at)
	if done {
		return nil
	}
	err = file.Sync()
	if errors.Is(err, os.ErrClosed) {
		// The caller that closed the segment synced it before, or failed to.
		if done, _ = s.reached(at); done {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("forcing the spool to disk: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forced = later(s.forced, reached)
	return nil
}

// place is a position in the spool: a segment and a number of bytes in it.
type place struct {
	segment int
	bytes   int64
}

// later returns the later of two positions.
func later(a, b place) place {
	if a.segment > b.segment || a.segment == b.segment && a.bytes > b.bytes {
		return a
	}
	return b
}

// reached reports whether a position is certainly on disk. end is the position that a sync that begins now would reach.
func (s *Spool) reached(at place) (done bool, end place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end = at
	if s.number == at.segment {
		end.bytes = s.written
	}
	return later(s.forced, at) == s.forced, end
}

// write appends frames to the current segment in one write.
func (s *Spool) write(parts []event.Part) (file *os.File, end place, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scratch = s.scratch[:0]
	for _, part := range parts {
		s.scratch = appendFrame(s.scratch, part)
	}
	size := int64(len(s.scratch))
	if s.total+size > s.config.MaxBytes {
		return nil, place{}, ErrFull
	}
	if s.written >= segmentBytes {
		if err := s.end(); err != nil {
			return nil, place{}, fmt.Errorf("closing a segment of the spool: %w", err)
		}
	}
	if s.file == nil {
		if err := s.begin(); err != nil {
			return nil, place{}, err
		}
	}
	if _, err := s.file.Write(s.scratch); err != nil {
		// Half a frame would hide the frames that follow it.
		err = fmt.Errorf("writing to the spool: %w", err)
		if undo := s.file.Truncate(s.written); undo != nil {
			return nil, place{}, errors.Join(err, undo, s.end())
		}
		_, seek := s.file.Seek(s.written, 0)
		return nil, place{}, errors.Join(err, seek)
	}
	s.written += size
	s.total += size
	s.wake()
	return s.file, place{s.number, s.written}, nil
}

// begin opens a new segment.
func (s *Spool) begin() error {
	file, err := os.OpenFile(s.path(s.number+1), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("making a segment of the spool: %w", err)
	}
	s.file, s.number, s.written = file, s.number+1, 0
	if err := datadir.Force(s.config.Dir); err != nil {
		return fmt.Errorf("forcing the spool's folder: %w", err)
	}
	return nil
}

// end syncs the current segment to disk and closes it, if there is one.
func (s *Spool) end() error {
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	err := file.Sync()
	if err == nil {
		s.forced = later(s.forced, place{s.number, s.written})
	}
	return errors.Join(err, file.Close())
}

func (s *Spool) wake() {
	select {
	case s.filled <- struct{}{}:
	default:
	}
}

// Close ends the writing. Waiting parts stay for the next process.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end()
}

// Pauses between attempts to deliver.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Run delivers the waiting parts until ctx ends. It repeats a failed attempt after a growing pause.
func (s *Spool) Run(ctx context.Context, hand func(ctx context.Context, parts []event.Part) error) error {
	pause := firstPause
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.filled:
		}
		for {
			err := s.drain(ctx, hand)
			if err == nil {
				pause = firstPause
				break
			}
			s.config.Logger.Warn("handing over what was spooled", "error", err, "waitingBytes", s.Bytes())
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
				pause = min(2*pause, lastPause)
			}
		}
	}
}

// drain delivers and removes every segment, the oldest first.
func (s *Spool) drain(ctx context.Context, hand func(ctx context.Context, parts []event.Part) error) error {
	s.mu.Lock()
	err := s.end()
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("closing a segment of the spool: %w", err)
	}
	segments, err := s.segments()
	if err != nil {
		return err
	}
	for _, segment := range segments {
		s.mu.Lock()
		present := s.file != nil && segment == s.path(s.number)
		s.mu.Unlock()
		if present {
			return nil
		}
		if err := s.handSegment(ctx, segment, hand); err != nil {
			return err
		}
	}
	return nil
}

// handBytes is the approximate size of one delivery.
const handBytes = 1 << 20

// handSegment delivers one file and removes it. It skips a torn frame at the end, which was never acknowledged.
func (s *Spool) handSegment(ctx context.Context, segment string, hand func(ctx context.Context, parts []event.Part) error) error {
	content, err := os.ReadFile(segment)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading a segment of the spool: %w", err)
	}
	var parts []event.Part
	size := 0
	for rest := content; ; {
		part, next, ok := cutFrame(rest)
		if ok {
			parts, rest = append(parts, part), next
			size += len(part.Payload)
		}
		if len(parts) > 0 && (!ok || size >= handBytes) {
			if err := hand(ctx, parts); err != nil {
				return err
			}
			parts, size = parts[:0], 0
		}
		if !ok {
			break
		}
	}
	if err := errors.Join(os.Remove(segment), datadir.Force(s.config.Dir)); err != nil {
		return fmt.Errorf("removing a segment of the spool: %w", err)
	}
	s.mu.Lock()
	s.total -= int64(len(content))
	s.mu.Unlock()
	return nil
}
