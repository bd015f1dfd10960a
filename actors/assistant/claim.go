package assistant

import (
	"context"
	"time"

	"svc/domain/conversation"
)

// A turn that answers a question has a reservation, and stores its claim while the first round runs. Until the claim is
// stored, no part of the answer is shown, no tool runs and nothing is spent.

// errUnclaimed ends a turn if its claim was not stored.
type errUnclaimed struct{ cause error }

func (e errUnclaimed) Error() string { return "storing the claim of a turn: " + e.cause.Error() }

func (e errUnclaimed) Unwrap() error { return e.cause }

// claim is the storing of a turn's claim.
type claim struct {
	done chan struct{}
	// err is set before done is closed.
	err error
}

// claimTime bounds the storing of a claim.
const claimTime = 10 * time.Second

// begin stores the claim of a turn, then shows the frames of the turn so far and puts the conversation into
// its member's inbox.
func (t *turn) begin(asking *conversation.TurnRequest) {
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

// awaitClaim waits until the claim of the turn is stored, claimTime at most; it fails if storing it failed.
func (t *turn) awaitClaim() error {
	if t.claim == nil {
		return nil
	}
	<-t.claim.done
	return t.claim.err
}

// unstored reports whether the claim of the turn may not be stored yet.
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

// note puts a conversation into its member's inbox after its turn has begun, while the turn continues. If that fails,
// the end of the turn does it.
func (a *Assistant) note(exchange conversation.Transcript) {
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	if err := a.Conversations.Note(ctx, exchange); err != nil {
		a.Logger.Error("putting a conversation into its member's inbox failed", "conversation", exchange.Conversation.ID, "error", err)
	}
}
