package assistant

import (
	"context"
	"errors"
	"time"

	"svc"
)

// A turn that answers a question has a place, and stores its claim beside the first round.
// Until that is stored, nothing of the answer is shown, no tool runs and nothing is spent.

// errUnclaimed is why a turn ends whose claim was not stored.
type errUnclaimed struct{ cause error }

func (e errUnclaimed) Error() string { return "storing the claim of a turn: " + e.cause.Error() }

func (e errUnclaimed) Unwrap() error { return e.cause }

// claim is the storing of a turn's claim.
type claim struct {
	done chan struct{}
	// err is set before done is closed.
	err error
}

// claimTime bounds it.
const claimTime = 10 * time.Second

// begin stores the claim of a turn, then shows what the turn has said meanwhile and puts
// the conversation on its member's desk.
func (t *turn) begin(asking *svc.Asking) {
	ctx, cancel := context.WithTimeout(context.Background(), claimTime)
	defer cancel()
	exchange, err := t.Conversations.Begin(ctx, asking)
	if err != nil {
		t.Logger.Error("storing the claim of a turn failed", "conversation", asking.Conversation.ID, "error", err)
		t.claim.err = errUnclaimed{err}
		t.cancel(t.claim.err)
		close(t.claim.done)
		if err := t.Conversations.Release(ctx, asking); err != nil {
			t.Logger.Warn("letting the place of a turn go failed", "conversation", asking.Conversation.ID, "error", err)
		}
		return
	}
	t.frames.show()
	close(t.claim.done)
	t.note(exchange)
}

// claimed waits until the claim of the turn is stored; it does not take longer than
// claimTime, and fails where the turn has none.
func (t *turn) claimed() error {
	if t.claim == nil {
		return nil
	}
	<-t.claim.done
	return t.claim.err
}

// unstored says whether the record may not know of the turn yet.
func (t *turn) unstored() bool {
	if t.claim == nil {
		return false
	}
	select {
	case <-t.claim.done:
		return false
	default:
		return true
	}
}

// note puts a conversation whose turn has begun on its member's desk, while the turn goes
// on. Where that fails, the end of the turn does it.
func (a *Assistant) note(exchange svc.Exchange) {
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	if err := a.Conversations.Note(ctx, exchange); err != nil {
		a.Logger.Error("noting a conversation on its member's desk failed", "conversation", exchange.Conversation.ID, "error", err)
	}
}

// The claims of turns that run are renewed every renewEvery, so many at once; one attempt
// takes renewTime at most, so that another follows within the lease.
const (
	renewEvery = 5 * time.Second
	renewTime  = 4 * time.Second
	renewals   = 32
	renewTick  = time.Second
)

// renewing renews the claims of turns until ctx ends.
func (a *Assistant) renewing(ctx context.Context) {
	tick := time.NewTicker(renewTick)
	defer tick.Stop()
	places := make(chan struct{}, renewals)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, t := range a.due() {
			places <- struct{}{}
			go func() {
				defer func() { <-places }()
				_ = t.renew(ctx) // a turn that is over is cancelled, and any other is asked about again
			}()
		}
	}
}

// due returns the turns whose claim is to be renewed, and counts them as asked about.
func (a *Assistant) due() (turns []*turn) {
	now := a.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.turns {
		if !t.over && !t.unstored() && now.Sub(t.asked) >= renewEvery {
			t.asked = now
			turns = append(turns, t)
		}
	}
	return turns
}

// renew tells the conversation that the turn runs. Where the conversation says that it is
// over, the turn is cancelled.
func (t *turn) renew(ctx context.Context) error {
	if err := t.claimed(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
	defer cancel()
	began := t.Now()
	err := t.Conversations.Renew(ctx, &t.conversation)
	if code := svc.CodeOf(err); err != nil && (code == svc.CodeConflict || code == svc.CodeNotFound) {
		err = errOver
		t.cancel(errOver)
	}
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.renewed = began
	}
	return err
}

// held makes sure, before something is written, that the turn still has its claim: a node
// that stood still may have lost it. The claim is held for as long as the conversation
// waits for a sign of life behind the last one.
func (t *turn) held(ctx context.Context) error {
	if err := t.claimed(); err != nil {
		return err
	}
	t.mu.Lock()
	fresh := t.Now().Sub(t.renewed) < svc.TurnLease
	t.mu.Unlock()
	if fresh {
		return nil
	}
	return t.renew(ctx)
}

// errOver is why a turn ends that its conversation takes for lost.
var errOver = errors.New("the conversation has ended the turn")
