package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/protos"
)

// Directory locates the partitions that this node does not own.
type Directory interface {
	// Owner returns the address of the node that owns a partition, as far as known. An error means that no owner is
	// known.
	Owner(ctx context.Context, partition int) (address string, err error)
	// Refresh drops the cached owners, because they were wrong.
	Refresh()
}

// Wire carries calls to other nodes.
type Wire interface {
	// Self returns the address under which other nodes reach this node.
	Self() string
	// Call sends a call to the node at an address. It returns ErrMoved if the call was not executed, ErrLost if that is
	// unknown, or another error of the call.
	Call(ctx context.Context, address string, call *protos.Call) (*protos.Answer, error)
	// Serve sets the function that answers calls of other nodes from now on.
	Serve(answer func(ctx context.Context, call *protos.Call) (*protos.Answer, error))
}

// ErrLost means that a call may have been executed: while it was under way, the wire broke or the other node gave up
// the partition.
var ErrLost = errors.New("answer lost")

// watchTime is the pause between two checks of the partition's owner while a call is under way on another node.
const watchTime = 250 * time.Millisecond

// there makes one attempt on the node that owns a partition. If the answer is lost and the call is repeatable, it
// returns ErrMoved.
func (c *Cluster) there(ctx context.Context, partition int, call *protos.Call) (*protos.Answer, error) {
	address, err := c.config.Directory.Owner(ctx, partition)
	if err != nil || address == c.config.Wire.Self() {
		// The partition has no owner yet, or this node is about to own it or no longer owns it.
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

// watch gives up a call once its partition is known to belong to another node. The called node may be dead or cut off.
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

// answerRemote executes a call of another node. If this node does not own the actor, it returns ErrMoved, and the other
// node repeats the call elsewhere.
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
		// If an actor is stopping while its partition stays, the call is repeated.
		if _, owned := c.owned(kind, call.GetIdentity()); !owned || !c.again(ctx, kind, pause) {
			return nil, ErrMoved
		}
	}
}
