package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/event"
)

// door lets deliveries in while it is open. The zero value is open.
type door struct {
	mu     sync.Mutex
	inside int
	// closed is non-nil while the door is closed, and is closed when the door opens again. left is closed when the last
	// delivery leaves.
	closed, left chan struct{}
}

// enter waits until the door is open. The caller must leave.
func (d *door) enter(ctx context.Context) error {
	for {
		d.mu.Lock()
		closed := d.closed
		if closed == nil {
			d.inside++
		}
		d.mu.Unlock()
		if closed == nil {
			return nil
		}
		select {
		case <-closed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *door) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inside--; d.inside == 0 && d.left != nil {
		close(d.left)
		d.left = nil
	}
}

// close closes the door and waits until nothing is inside. Only one caller closes it at a time.
func (d *door) close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = make(chan struct{})
	left := make(chan struct{})
	if d.inside == 0 {
		close(left)
	} else {
		d.left = left
	}
	d.mu.Unlock()
	select {
	case <-left:
		return nil
	case <-ctx.Done():
		d.open()
		return ctx.Err()
	}
}

func (d *door) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.closed)
	d.closed, d.left = nil, nil
}

// Held is a shard that is held until Release. This node owns all its partitions. Nothing of them is folded or stored:
// every block is committed, and none is open.
type Held struct {
	shard      *shardStream
	generation int32
	// first is the position of the first partition.
	first  event.LogPosition
	resume func()
}

// ErrShared is returned if a shard cannot be held because another node owns some of its partitions.
var ErrShared = errors.New("another node stores items of the shard, too")

// heldPause is the pause between two checks whether a block that a crash left is complete.
const heldPause = 50 * time.Millisecond

// Hold stops the folding and storing of a shard's partitions between two blocks. Items wait in the log. Only one caller
// holds a shard at a time.
func (s *Stream) Hold(ctx context.Context, shard int) (*Held, error) {
	one := s.shards[shard]
	if err := one.door.close(ctx); err != nil {
		return nil, fmt.Errorf("waiting for what is being folded: %w", err)
	}
	held, err := one.hold(ctx)
	if err != nil {
		one.door.open()
		return nil, err
	}
	return held, nil
}

// hold stores the folded records while the door is closed.
func (s *shardStream) hold(ctx context.Context) (_ *Held, err error) {
	// If the generation of the block has ended, the next one reads its records again. whole waits for that generation.
	if err := s.sink.flush(ctx); err != nil && !errors.Is(err, errOver) {
		return nil, fmt.Errorf("storing the open block: %w", err)
	}
	h := &Held{shard: s}
	if h.resume, err = s.sink.pause(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			h.resume()
		}
	}()
	for {
		whole, err := s.whole(ctx, h)
		if err != nil || whole {
			return h, err
		}
		select {
		case <-time.After(heldPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// whole reports whether this node owns all partitions of the shard and no block is pending in its generation. It
// commits a position that is already there, so that the log confirms the ownership. Otherwise a node that stood still
// would not know that its generation has ended, or which environments were moved since.
func (s *shardStream) whole(ctx context.Context, h *Held) (bool, error) {
	s.mu.Lock()
	g := s.generation
	s.mu.Unlock()
	if g == nil || !g.ready() {
		return false, nil
	}
	if len(g.partitions) < s.config.Shape.Partitions {
		return false, ErrShared
	}
	positions, err := s.config.Log.Committed(ctx, s.partitions())
	if err != nil {
		return false, fmt.Errorf("looking for interrupted blocks: %w", err)
	}
	for _, position := range positions {
		if position.Metadata != "" {
			return false, nil
		}
		if position.Partition == s.partition(0) {
			h.first = position
		}
	}
	h.generation = g.number
	err = s.sink.commit(ctx, h.generation, []event.LogPosition{h.first})
	if errors.Is(err, domain.ErrFenced) {
		return false, nil // the next generation follows
	}
	return err == nil, err
}

// Release resumes the shard. A nil Held holds none.
func (h *Held) Release() {
	if h == nil {
		return
	}
	h.resume()
	h.shard.door.open()
}

// ErrUndecided is returned if it is unknown whether a move took place; the next generation finds out.
var ErrUndecided = errors.New("whether the environment was moved is not known yet")

// Decide moves an environment to another shard for good. The text of the move stands next to the committed offset of
// the first partition, where every later generation finds it before it stores anything. A predecessor is refused if its
// generation has ended. Once the place is noted elsewhere, Decided removes the text.
func (h *Held) Decide(ctx context.Context, environment uint64, shard int) error {
	position := h.first
	position.Metadata = moveText(environment, shard)
	err := h.shard.sink.commit(ctx, h.generation, []event.LogPosition{position})
	if err == nil || errors.Is(err, domain.ErrFenced) {
		return err
	}
	h.shard.sink.end(h.generation) // if the text stands, nothing of the generation can be committed after it
	return fmt.Errorf("%w: %w", ErrUndecided, err)
}

// Abandon ends the generation: nothing of the shard is stored or committed before the next one, which finds the text.
func (h *Held) Abandon() { h.shard.sink.end(h.generation) }

// Decided removes the text of a move.
func (h *Held) Decided(ctx context.Context) error {
	return h.shard.sink.commit(ctx, h.generation, []event.LogPosition{h.first})
}

// moveVersion begins the text of a move next to a committed offset; digits are in base 36.
const moveVersion = "moved1"

func moveText(environment uint64, shard int) string {
	return moveVersion + " " + strconv.FormatUint(environment, 36) + " " + strconv.Itoa(shard)
}

// parseMove reads the text of a move; ok is false for other texts.
func parseMove(text string) (environment uint64, shard int, ok bool) {
	fields := strings.Fields(text)
	if len(fields) != 3 || fields[0] != moveVersion {
		return 0, 0, false
	}
	environment, err := strconv.ParseUint(fields[1], 36, 64)
	if err != nil {
		return 0, 0, false
	}
	shard, err = strconv.Atoi(fields[2])
	return environment, shard, err == nil
}

// moved is an environment and its shard after a move.
type moved struct {
	environment uint64
	shard       int
}

// hearMoves finds the moves of environments that an earlier generation decided and may not have noted everywhere. It
// makes this node use them, and returns the positions without their texts. It asks no store, so that a store that is
// away delays only its own partitions.
func (s *shardStream) hearMoves(g *generation, positions []event.LogPosition) []event.LogPosition {
	for i, position := range positions {
		environment, shard, found := parseMove(position.Metadata)
		if !found {
			continue
		}
		s.config.Moves.Hear(environment, shard)
		g.moves = append(g.moves, moved{environment, shard})
		positions[i].Metadata = ""
		if g.owns(position.Partition) {
			g.words = append(g.words, positions[i])
		}
	}
	return positions
}

// noteMoves notes the moves that hearMoves found durably, and removes their texts.
func (s *shardStream) noteMoves(ctx context.Context, g *generation) error {
	for _, one := range g.moves {
		if err := s.config.Moves.Note(ctx, one.environment, one.shard); err != nil {
			return fmt.Errorf("noting where an environment lives: %w", err)
		}
	}
	if len(g.words) > 0 {
		if err := s.sink.commit(ctx, g.number, g.words); err != nil {
			return fmt.Errorf("committing after a move: %w", err)
		}
	}
	g.moves, g.words = nil, nil
	return nil
}
