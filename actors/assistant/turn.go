package assistant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/conversation"
)

// The causes of a cancelled turn.
var (
	errStopping = errors.New("the node is stopping")
	errLeft     = errors.New("nobody follows")
	errTime     = errors.New("the time of the turn is over")
	errRevoked  = errors.New("the member may not use the assistant")
)

// Turn is a running turn for its caller.
type Turn struct{ turn *turn }

// Conversation returns the id of the turn's conversation.
func (t *Turn) Conversation() string { return t.turn.conversation.ID }

// Frames yields the frames of the turn from the first one until it ends, yield returns
// false or ctx ends.
func (t *Turn) Frames(ctx context.Context, yield func(conversation.TurnFrame) bool) {
	t.turn.frames.follow(ctx, 0, yield)
}

// Text waits for the end of the turn and returns the text of its answer, and the error of the turn.
func (t *Turn) Text(ctx context.Context) (string, error) {
	var text strings.Builder
	var failure error
	t.Frames(ctx, func(frame conversation.TurnFrame) bool {
		switch data := frame.Data.(type) {
		case textFrame:
			text.WriteString(data.Text)
		case errorFrame:
			failure = domain.Errorf(data.Code, "%s", data.Message)
		}
		return true
	})
	if ctx.Err() != nil {
		failure = ctx.Err()
	}
	return text.String(), failure
}

// turn is one running turn. Everything but frames and cancel belongs to its goroutine.
type turn struct {
	*Assistant
	who          conversation.Principal
	model        Model
	conversation conversation.Conversation
	messages     []conversation.Message
	actions      []conversation.Action
	// approved is the action with which the turn begins, nil if it begins with a question.
	approved *conversation.Action

	frames *buffer
	cancel context.CancelCauseFunc
	// claim is the storing of the claim; nil if the turn began with a stored claim.
	claim *claim
	// Guarded by the assistant: when the claim was last renewed, when the renewal was requested, and whether the turn
	// has ended.
	renewed, asked time.Time
	over           bool

	token    domain.Token
	secret   domain.Secret
	settings conversation.AISettings
	audience conversation.Audience
	loaded   []conversation.Tool
	repeated conversation.Repetition
	usage    conversation.Usage
	rounds   int
	// spoke is set once the answer has text.
	spoke bool
}

// newTurn makes a turn of a conversation. The request for its reservation or claim was sent at the instant
// asked.
func (a *Assistant) newTurn(who conversation.Principal, model Model, exchange conversation.Transcript, asked time.Time) *turn {
	return &turn{
		Assistant: a, who: who, model: model, conversation: exchange.Conversation, messages: exchange.Messages, actions: exchange.Actions,
		renewed: asked, asked: asked,
	}
}

// start runs a turn: either its claim is stored, or, with a question, it stores its claim while it begins.
func (a *Assistant) start(t *turn, asking *conversation.TurnRequest) (*Turn, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	t.cancel = cancel
	t.frames = newBuffer(t.conversation.Turn, conversation.DisconnectGrace, func() { cancel(errLeft) })
	if !a.enter(ctx, t, asking) {
		cancel(errStopping)
		t.giveBack(asking)
		return nil, domain.Unavailable("The service", time.Second)
	}
	return &Turn{turn: t}, nil
}

// enter begins a turn unless the node is stopping.
func (a *Assistant) enter(ctx context.Context, t *turn, asking *conversation.TurnRequest) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return false
	}
	if a.turns == nil {
		a.turns = map[string]*turn{}
	}
	t.frames.add("start", startFrame{"start", t.conversation.ID, t.conversation.Title})
	t.frames.add("status", statusFrame{"status", stateRunning})
	if asking != nil {
		t.frames.hide()
		t.claim = &claim{done: make(chan struct{})}
		a.running.Go(func() { t.begin(asking) }) //nolint:contextcheck // the beginning of a turn outlives its request
	}
	a.turns[t.conversation.ID] = t
	a.running.Go(func() { t.run(ctx) })
	return true
}

// giveBack ends a turn that does not begin because the node is stopping.
func (t *turn) giveBack(asking *conversation.TurnRequest) {
	if asking == nil {
		t.finish(context.Background(), errStopping)
		return
	}
	t.frames.end()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_ = t.Conversations.Release(ctx, asking) // otherwise it expires
}

// run runs the turn and records its end.
func (t *turn) run(ctx context.Context) {
	defer t.cancel(nil)
	limited, stop := context.WithTimeoutCause(ctx, conversation.TurnTime, errTime)
	defer stop()
	err := t.workSafely(limited)
	if cause := context.Cause(limited); err != nil && cause != nil {
		err = cause
	}
	t.finish(context.WithoutCancel(ctx), err)
}

// workSafely runs the turn; a panic becomes an error.
func (t *turn) workSafely(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return t.work(ctx)
}

// finish records the end of the turn and reports it as a frame.
func (t *turn) finish(ctx context.Context, cause error) {
	defer t.release()
	if err := t.awaitClaim(); err != nil {
		t.frames.discardHidden() // no client has seen it
		t.fail(err)
		return
	}
	patience := recordTime
	if errors.Is(cause, errStopping) {
		patience = stopTime
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var revoking sync.WaitGroup
	if t.token.ID != "" {
		revoking.Go(func() { t.revoke(ctx, t.token) })
	}
	told, failure := ending(cause)
	if told != "" {
		t.remark(string(told))
	}
	recorded := string(told)
	if failure != nil {
		recorded = failure.Message
	}
	exchange, err := t.Conversations.Finish(ctx, &t.conversation, recorded)
	revoking.Wait()
	switch {
	case failure != nil:
		t.fail(cause)
	case domain.CodeOf(err) == domain.CodeConflict:
		t.fail(errOver)
	case err != nil:
		t.Logger.Error("recording the end of a turn failed", "conversation", t.conversation.ID, "error", err)
		t.frames.add("error", errorFrame{"error", "The end of the turn could not be recorded.", domain.CodeInternal})
	default:
		t.frames.add("status", statusFrame{"status", stateAfter(exchange.Conversation.State)})
		t.frames.add("done", doneFrame{"done", t.conversation.ID, t.usage, t.rounds})
	}
}

// fail reports the reason why the turn failed.
func (t *turn) fail(cause error) {
	_, failure := ending(cause)
	if failure.Code == domain.CodeInternal {
		t.Logger.Error("a turn failed", "conversation", t.conversation.ID, "error", cause)
	}
	t.frames.add("error", errorFrame{"error", failure.Message, failure.Code})
}

// release ends the frames and drops everything else of the turn.
func (t *turn) release() {
	t.frames.end()
	t.messages, t.actions, t.loaded, t.audience, t.who = nil, nil, nil, conversation.Audience{}, conversation.Principal{}
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.forget()
}

// forget drops the turn once no client can reconnect to it any more.
func (t *turn) forget() {
	time.AfterFunc(keepFrames, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.turns[t.conversation.ID] == t {
			delete(t.turns, t.conversation.ID)
		}
	})
}

func (t *turn) say(text string) {
	if text != "" {
		t.frames.say(text)
		t.spoke = true
	}
}

// remark adds a text of the service as a paragraph of its own.
func (t *turn) remark(text string) {
	if t.spoke {
		text = "\n\n" + text
	}
	t.say(text)
}

// work loads the rights, executes an approved action, and asks the model round by round.
func (t *turn) work(ctx context.Context) error {
	if err := t.loadRights(ctx); err != nil {
		if t.approved != nil {
			t.drop(ctx, err)
		}
		return err
	}
	if t.approved != nil {
		if more, err := t.resume(ctx); err != nil || !more {
			return err
		}
	}
	t.loaded = t.Tools.Starters(&t.audience)
	for {
		proposed, err := t.round(ctx)
		if err != nil || proposed == nil {
			return err
		}
		if len(*proposed) > 0 {
			t.propose(*proposed)
			return nil
		}
		if t.rounds >= conversation.MaxRounds {
			return noteRounds
		}
		grant, err := t.tokenGrant(ctx)
		if err != nil {
			return err
		}
		if err := t.readRights(ctx, grant); err != nil {
			return err
		}
	}
}
