package assistant

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"svc"
)

// The data of the frames (Events of the specification); type equals the event's name.
type (
	startFrame struct {
		Type           string `json:"type"`
		ConversationID string `json:"conversationId"`
		Title          string `json:"title"`
	}
	statusFrame struct {
		Type  string `json:"type"`
		State string `json:"state"`
	}
	textFrame struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	toolsFrame struct {
		Type  string   `json:"type"`
		Names []string `json:"names"`
	}
	callFrame struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	resultFrame struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Name    string `json:"name"`
		OK      bool   `json:"ok"`
		Summary string `json:"summary"`
		Result  any    `json:"result"`
	}
	proposedAction struct {
		ID        string          `json:"id"`
		Tool      string          `json:"tool"`
		Input     json.RawMessage `json:"input"`
		Effect    svc.Effect      `json:"effect"`
		Preview   svc.Preview     `json:"preview"`
		ExpiresAt string          `json:"expiresAt"`
	}
	approvalFrame struct {
		Type    string           `json:"type"`
		Actions []proposedAction `json:"actions"`
	}
	actionFrame struct {
		Type      string           `json:"type"`
		ID        string           `json:"id"`
		Status    svc.ActionStatus `json:"status"`
		Summary   string           `json:"summary"`
		RequestID string           `json:"requestId"`
	}
	doneFrame struct {
		Type           string    `json:"type"`
		ConversationID string    `json:"conversationId"`
		Usage          svc.Usage `json:"usage"`
		Rounds         int       `json:"rounds"`
	}
	errorFrame struct {
		Type    string   `json:"type"`
		Message string   `json:"message"`
		Code    svc.Code `json:"code"`
	}
)

// The states of a status frame.
const (
	stateRunning  = "running"
	stateAwaiting = "awaiting"
	stateDone     = "done"
)

// buffer holds the frames of one turn for all who follow it.
type buffer struct {
	turn int
	// idle is called when nobody has followed for the grace time.
	idle  func()
	grace time.Duration

	mu        sync.Mutex
	frames    []svc.TurnFrame
	ended     bool
	followers map[chan struct{}]bool
	alone     *time.Timer
}

// newBuffer begins the frames of a turn. Until somebody follows, the grace runs.
func newBuffer(turn int, grace time.Duration, idle func()) *buffer {
	b := &buffer{turn: turn, grace: grace, idle: idle, followers: map[chan struct{}]bool{}}
	b.alone = time.AfterFunc(grace, idle)
	return b
}

// add appends a frame and tells the followers.
func (b *buffer) add(event string, data any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frames = append(b.frames, svc.TurnFrame{ID: svc.FrameID(b.turn, uint64(len(b.frames))+1), Event: event, Data: data})
	b.tell()
}

func (b *buffer) tell() {
	for follower := range b.followers {
		select {
		case follower <- struct{}{}:
		default: // it has not looked yet since the last time
		}
	}
}

// end lets the followers go once they have seen everything.
func (b *buffer) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.alone.Stop()
	b.tell()
}

// follow yields the frames behind an id and those to come, until the turn ends, yield
// returns false or ctx ends.
func (b *buffer) follow(ctx context.Context, after uint64, yield func(svc.TurnFrame) bool) {
	news := make(chan struct{}, 1)
	b.enter(news)
	defer b.leave(news)
	next := 0
	if svc.FrameTurn(after) == b.turn {
		next = int(after - svc.FrameID(b.turn, 0))
	}
	for {
		b.mu.Lock()
		next = min(next, len(b.frames))
		frames, ended := b.frames[next:], b.ended
		b.mu.Unlock()
		for _, frame := range frames {
			if !yield(frame) {
				return
			}
		}
		next += len(frames)
		if ended {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			return
		}
	}
}

func (b *buffer) enter(news chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.followers[news] = true
	b.alone.Stop()
}

// leave starts the grace where nobody is left.
func (b *buffer) leave(news chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.followers, news)
	if len(b.followers) == 0 && !b.ended {
		b.alone.Reset(b.grace)
	}
}
