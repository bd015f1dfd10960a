package state

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// store appends records of a kind and ensures that they count. It returns the offset of the first.
func (o *Owner) store(what kind, records []Record) (int64, error) {
	for {
		if err := o.ready(); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrLost, err)
		}
		offset, doubt, err := o.attempt(what, records)
		switch {
		case err == nil || errors.Is(err, ErrLost) || errors.Is(err, ErrTooLarge):
			return offset, err
		case final(err):
			o.lose()
			return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		// The batch may be in the log, or was refused for a reason that the log itself shows.
		offset, stored, err := o.settle(what, fenced(err), doubt)
		switch {
		case stored:
			return offset, nil
		case err != nil && doubt && !errors.Is(err, ErrLost):
			return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
		case err != nil:
			return 0, err
		}
	}
}

// ready returns an error if nothing can be appended any more. It takes a new identity if the sequence numbers are used
// up.
func (o *Owner) ready() error {
	if o.isOver() {
		return errors.New("another owner is known")
	}
	if err := o.ctx.Err(); err != nil {
		return err
	}
	if o.writer.spent() {
		_, _, err := o.settle(owned, false, false)
		return err
	}
	return nil
}

// attempt appends records and reads the records that others appended before them.
func (o *Owner) attempt(what kind, records []Record) (offset int64, doubt bool, err error) {
	reign := o.Position().Reign
	if what == barrier {
		reign = o.another()
		records = []Record{o.barrier(reign)}
	}
	offset, doubt, err = o.writer.append(o.ctx, what, reign, records)
	if err != nil {
		return 0, doubt, err
	}
	if err := o.follows(offset); err != nil {
		return 0, true, err
	}
	seen, err := o.look(offset)
	if err != nil {
		return 0, true, err
	}
	if seen.foreign {
		o.lose()
		return 0, false, ErrLost
	}
	o.advance(offset+int64(len(records)), reign)
	return offset, false, nil
}

// follows returns an error if the offset of an append lies before the owner's position: the log lost its end, and with
// it acknowledged saves.
func (o *Owner) follows(offset int64) error {
	known := o.Position().Offset
	if offset >= known {
		return nil
	}
	o.log.cfg.Logger.Error("the log of state lost its end", "partition", o.partition, "known", known, "found", offset)
	return fmt.Errorf("%w: it lost what was before offset %d", ErrGap, known)
}

// another returns a new reign of this owner.
func (o *Owner) another() Reign {
	reign := newReign()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reigns[reign] = struct{}{}
	return reign
}

// sight describes the records after an owner's position.
type sight struct {
	foreign bool // another owner's barrier
	// stored means that there are records of this owner that count. offset is the offset of the first. Records that
	// others appended before it do not belong to this owner.
	stored bool
	offset int64
}

// look reads from the owner's position up to an offset.
func (o *Owner) look(end int64) (seen sight, err error) {
	until := end // the offset at which the ownership ends
	at := &cursor{at: o.Position(), barrier: func(reign Reign, offset int64) {
		if offset < until && !o.isMine(reign) {
			seen.foreign, until = true, offset
		}
	}}
	if at.at.Offset >= end {
		return seen, nil
	}
	var void []string
	err = o.log.until(o.ctx, o.partition, at, end, func(entries []Entry) {
		for _, e := range entries {
			switch {
			case e.Offset >= until:
			case e.Void:
				void = append(void, e.Key)
			case !e.Free && !seen.stored:
				seen.stored, seen.offset = true, e.Offset
			}
		}
	})
	if len(void) > 0 && !seen.foreign {
		o.met(void)
	}
	return seen, err
}

// settle finds out whether the last batch is in the log. If it is not, settle ensures that it will never count: it
// raises the producer's epoch, so that the broker refuses a batch that is still under way, and appends a barrier of a
// new reign, so that the batch would be void. It returns the offset of the batch, or of the barrier if the batch was
// one. If the broker refused the owner's epoch, settle does not raise it again; without doubt, the batch was then
// refused for good.
func (o *Owner) settle(what kind, refused, doubt bool) (offset int64, stored bool, err error) {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		var seen sight
		var barrierAt int64
		if refused {
			seen, err = o.yield(!doubt)
		} else {
			seen, barrierAt, err = o.renew()
		}
		switch {
		case seen.foreign || refused && err == nil:
			o.lose()
			return seen.offset, seen.stored, ErrLost
		case err == nil && what == barrier:
			return barrierAt, true, nil
		case err == nil:
			return seen.offset, seen.stored, nil
		case fenced(err):
			refused, doubt = true, true
			continue
		case final(err) || errors.Is(err, errSuperseded):
			o.lose()
			return 0, false, err
		case o.ctx.Err() != nil:
			return 0, false, err
		}
		o.log.cfg.Logger.Warn("state is not appended yet", "partition", o.partition, "error", err)
		pause(o.ctx, wait)
	}
}

// renew begins a new reign of this owner. It returns what the log has between the position and the barrier, and the
// offset of the barrier.
func (o *Owner) renew() (seen sight, offset int64, err error) {
	end, err := o.log.offset(o.ctx, o.partition, latest)
	if err != nil {
		return seen, 0, err
	}
	// A lost owner must not raise the epoch above the epoch of its successor.
	if seen, err = o.look(end); err != nil || seen.foreign {
		return seen, 0, err
	}
	who, err := o.log.raise(o.ctx, o.partition, &o.writer.who)
	if fenced(err) {
		seen, err = o.yield(false)
		return seen, 0, err
	}
	if err != nil {
		return sight{}, 0, err
	}
	reign := o.another()
	o.writer.who = who
	offset, _, err = o.writer.append(o.ctx, barrier, reign, []Record{o.barrier(reign)})
	if err != nil {
		return sight{}, 0, err
	}
	if err := o.follows(offset); err != nil {
		return sight{}, 0, err
	}
	if seen, err = o.look(offset + 1); err != nil || seen.foreign {
		return seen, 0, err
	}
	o.advance(offset+1, reign)
	return seen, offset, nil
}

// yieldTime is how long a successor that has raised the epoch may take to append its barrier.
const (
	yieldTime  = 10 * time.Second
	yieldPause = 20 * time.Millisecond
)

// yield is called when another process has raised the epoch. A batch of this owner that is in doubt may still appear
// until the successor's barrier is in the log, so yield waits for that barrier. If nothing is in doubt, one look is
// enough.
func (o *Owner) yield(certain bool) (seen sight, err error) {
	ctx, cancel := context.WithTimeout(o.ctx, yieldTime)
	defer cancel()
	for ctx.Err() == nil {
		end, err := o.log.offset(ctx, o.partition, latest)
		if err == nil {
			seen, err = o.look(end)
		}
		if err == nil && (seen.foreign || seen.stored || certain) || final(err) {
			return seen, err
		}
		pause(ctx, yieldPause)
	}
	return sight{}, errSuperseded
}

// errSuperseded reports that another process is about to own the partition.
var errSuperseded = errors.New("another process raised the epoch of the partition's producer")
