package assistant

import (
	"context"
	"errors"
	"time"

	"svc"
)

// errOver is why a turn ends that its conversation takes for lost.
var errOver = errors.New("the conversation has ended the turn")

// The claims of turns that run are renewed every renewEvery, so many at once; one attempt
// takes renewTime at most, so that another follows within the lease.
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
	if err := t.awaitClaim(); err != nil {
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

// ensureClaim makes sure, before something is written, that the turn still has its claim: a node
// that stood still may have lost it. The claim is held for as long as the conversation
// waits for a sign of life after the last one.
func (t *turn) ensureClaim(ctx context.Context) error {
	if err := t.awaitClaim(); err != nil {
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
