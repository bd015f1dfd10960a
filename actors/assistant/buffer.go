package assistant

import (
	"context"
	"strings"
	"sync"
	"time"

	"svc/domain/conversation"
)

// buffer holds the frames of one turn for all its followers.
type buffer struct {
	turn int
	// idle is called after the grace time without a follower.
	idle  func()
	grace time.Duration

	mu     sync.Mutex
	frames []bufferedFrame
	// text is the text of all text frames, one after another: most frames are a few letters, and there may be
	// thousands.
	text strings.Builder
	// shown is the number of visible frames while hidden is set.
	shown     int
	hidden    bool
	ended     bool
	followers map[chan struct{}]bool
	alone     *time.Timer
}

// bufferedFrame is a frame in the buffer. A text lies between the end of the previous frame and its own end.
type bufferedFrame struct {
	other *otherFrame // nil for a text
	end   uint32
}

// otherFrame is a frame other than text.
type otherFrame struct {
	event string
	data  any
}

// newBuffer begins the frames of a turn. The grace time runs until the first follower.
func newBuffer(turn int, grace time.Duration, idle func()) *buffer {
	b := &buffer{turn: turn, grace: grace, idle: idle, followers: map[chan struct{}]bool{}}
	b.alone = time.AfterFunc(grace, idle)
	return b
}

// add appends a frame and notifies the followers.
func (b *buffer) add(event string, data any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.append(&otherFrame{event, data})
}

// say appends a frame of text and notifies the followers.
func (b *buffer) say(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.WriteString(text)
	b.append(nil)
}

func (b *buffer) append(other *otherFrame) {
	b.frames = append(b.frames, bufferedFrame{other, uint32(b.text.Len())})
	b.notify()
}

// hide hides further frames from followers until show is called.
func (b *buffer) hide() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hidden, b.shown = true, len(b.frames)
}

// show makes all frames visible to followers.
func (b *buffer) show() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hidden = false
	b.notify()
}

// discardHidden drops the hidden frames, and makes further ones visible.
func (b *buffer) discardHidden() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.hidden {
		return
	}
	b.hidden = false
	b.frames = b.frames[:b.shown]
	said := b.text.String()[:b.frames[b.shown-1].end]
	b.text.Reset()
	b.text.WriteString(said)
}

func (b *buffer) notify() {
	for follower := range b.followers {
		notify(follower)
	}
}

// notify wakes a follower.
func notify(follower chan struct{}) {
	select {
	case follower <- struct{}{}:
	default: // it is already awake
	}
}

// end releases the followers once they have read every frame.
func (b *buffer) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.alone.Stop()
	b.notify()
}

// follow yields the frames after an id, including future ones, until the turn ends, yield returns false or ctx ends.
func (b *buffer) follow(ctx context.Context, after uint64, yield func(conversation.TurnFrame) bool) {
	told := make(chan struct{}, 1)
	b.subscribe(told)
	defer b.unsubscribe(told)
	defer context.AfterFunc(ctx, func() { notify(told) })()
	next := 0
	if conversation.FrameTurn(after) == b.turn {
		next = int(after - conversation.FrameID(b.turn, 0))
	}
	for ctx.Err() == nil {
		var more bool
		if next, more = b.deliver(next, yield); !more {
			return
		}
		<-told
	}
}

// deliver yields the frames after the n-th. It returns the number of the last one, and whether to wait for
// more.
func (b *buffer) deliver(n int, yield func(conversation.TurnFrame) bool) (int, bool) {
	news, ended := b.after(n)
	return news.first + len(news.frames), news.each(yield) && !ended
}

// after returns the frames after the n-th, and whether they are the last ones.
func (b *buffer) after(n int) (run, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	frames := b.frames
	if b.hidden {
		frames = frames[:b.shown]
	}
	n = min(n, len(frames))
	out := run{turn: b.turn, first: n, frames: frames[n:], text: b.text.String()}
	if n > 0 {
		out.begin = b.frames[n-1].end
	}
	return out, b.ended
}

// run is a sequence of frames.
type run struct {
	turn, first int
	frames      []bufferedFrame
	text        string
	// begin is the beginning of the first frame's text.
	begin uint32
}

// each yields the frames and reports whether yield wants more.
func (r *run) each(yield func(conversation.TurnFrame) bool) bool {
	begin := r.begin
	for n, one := range r.frames {
		frame := conversation.TurnFrame{ID: conversation.FrameID(r.turn, uint64(r.first+n)+1), More: n+1 < len(r.frames)}
		if one.other == nil {
			frame.Event, frame.Data = "text", textFrame{"text", r.text[begin:one.end]}
		} else {
			frame.Event, frame.Data = one.other.event, one.other.data
		}
		begin = one.end
		if !yield(frame) {
			return false
		}
	}
	return true
}

func (b *buffer) subscribe(news chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.followers[news] = true
	b.alone.Stop()
}

// unsubscribe starts the grace time if no follower is left.
func (b *buffer) unsubscribe(news chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.followers, news)
	if len(b.followers) == 0 && !b.ended {
		b.alone.Reset(b.grace)
	}
}
