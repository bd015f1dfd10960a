package assistant

import (
	"context"
	"errors"
	"time"

	"svc/domain"
	"svc/domain/conversation"
)

// errOver ends a turn that its conversation has given up as lost.
var errOver = errors.New("the conversation has ended the turn")

// The claims of running turns are renewed every renewEvery, at most renewals at a time. One attempt takes
// renewTime at most, so another fits into the lease.
const (
	renewEvery = 5 * time.Second
	renewTime  = 4 * time.Second
	renewals   = 32
	renewTick  = time.Second
)

// renewClaims renews the claims of turns until ctx ends.
func (a *Assistant) renewClaims(ctx context.Context) {
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
			a.running.Go(func() {
				defer func() { <-places }()
				_ = t.renew(ctx) // a turn that is over is cancelled, any other is renewed again later
			})
		}
	}
}

// due returns the turns with a lease that must be renewed, and marks the renewal as started.
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

// renew reports to the conversation that the turn runs. It cancels the turn if the conversation has ended it.
func (t *turn) renew(ctx context.Context) error {
	if err := t.awaitClaim(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
	defer cancel()
	began := t.Now()
	err := t.Conversations.Renew(ctx, &t.conversation)
	if code := domain.CodeOf(err); err != nil && (code == domain.CodeConflict || code == domain.CodeNotFound) {
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

// ensureClaim checks before a write that the turn still has its claim, which a node that stood still may have
// lost. After a renewal the claim is valid for the lease, as long as the conversation waits for the next
// heartbeat.
func (t *turn) ensureClaim(ctx context.Context) error {
	if err := t.awaitClaim(); err != nil {
		return err
	}
	t.mu.Lock()
	fresh := t.Now().Sub(t.renewed) < conversation.TurnLease
	t.mu.Unlock()
	if fresh {
		return nil
	}
	return t.renew(ctx)
}
