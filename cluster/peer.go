package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/protos"
)

// Directory says where the partitions live that this node does not own.
type Directory interface {
	// Owner returns the address of the node that owns a partition, as far as is
	// known. An error means that nobody is known to own it now.
	Owner(ctx context.Context, partition int) (address string, err error)
	// Refresh forgets what is known, because it was wrong.
	Refresh()
}

// Wire carries calls to other nodes.
type Wire interface {
	// Self is the address under which the others reach this node.
	Self() string
	// Call sends a call to the node at an address. It returns ErrMoved where the
	// call was not executed, ErrLost where that is unknown, or another error of
	// the call.
	Call(ctx context.Context, address string, call *protos.Call) (*protos.Answer, error)
	// Serve answers the calls of other nodes from now on.
	Serve(answer func(ctx context.Context, call *protos.Call) (*protos.Answer, error))
}

// ErrLost is the answer of a wire that broke, or whose far end gave up the
// partition, while a call was under way: it may have been executed.
var ErrLost = errors.New("answer lost")

// watchTime is the pause between two looks at who owns the partition of a call
// that is under way on another node.
const watchTime = 250 * time.Millisecond

// there makes one try on the node that owns a partition. Where the answer is lost
// and a repetition does no harm, it reports ErrMoved.
func (c *Cluster) there(ctx context.Context, partition int, call *protos.Call) (*protos.Answer, error) {
	address, err := c.config.Directory.Owner(ctx, partition)
	if err != nil || address == c.config.Wire.Self() {
		// Nobody owns it yet, or this node is about to, or no longer does.
		c.config.Directory.Refresh()
		return nil, ErrMoved
	}
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.watch(watched, partition, address, cancel)()
	answer, err := c.config.Wire.Call(watched, address, call)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() == nil && errors.Is(context.Cause(watched), ErrLost):
		err = ErrLost
	case errors.Is(err, ErrMoved):
		c.config.Directory.Refresh()
		return nil, err
	}
	if !errors.Is(err, ErrLost) {
		return nil, err
	}
	c.config.Directory.Refresh()
	if call.GetRepeatable() {
		return nil, ErrMoved
	}
	return nil, fmt.Errorf("%w: the node of the %s gave no answer", ErrUnavailable, call.GetKind())
}

// watch gives a call up once its partition is known to belong to another node
// than the one that was asked, which may be dead or cut off.
func (c *Cluster) watch(ctx context.Context, partition int, address string, giveUp context.CancelCauseFunc) (stop func()) {
	var timer *time.Timer
	ready := make(chan struct{})
	timer = time.AfterFunc(watchTime, func() {
		<-ready
		c.config.Directory.Refresh()
		owner, err := c.config.Directory.Owner(ctx, partition)
		if err == nil && owner != address {
			giveUp(ErrLost)
			return
		}
		if ctx.Err() == nil {
			timer.Reset(watchTime)
		}
	})
	close(ready)
	return func() { timer.Stop() }
}

// answerRemote executes a call of another node, which repeats it elsewhere where
// this node does not own the actor.
func (c *Cluster) answerRemote(ctx context.Context, call *protos.Call) (*protos.Answer, error) {
	kind := c.kinds[call.GetKind()]
	if kind == nil {
		return nil, fmt.Errorf("unknown actor kind %q", call.GetKind())
	}
	if c.closing.Load() {
		return nil, ErrMoved
	}
	release, err := c.enter(kind)
	if err != nil {
		return nil, err
	}
	defer release()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		answer, err := c.here(ctx, kind, call)
		if !errors.Is(err, ErrMoved) || c.closing.Load() {
			return answer, err
		}
		// An actor that is stopping while its partition stays is asked again.
		if _, owned := c.owned(kind, call.GetIdentity()); !owned || !c.again(ctx, kind, pause) {
			return nil, ErrMoved
		}
	}
}
