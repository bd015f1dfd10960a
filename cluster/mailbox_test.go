package cluster

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/protos"
)

// waited is a message without an answer. Its sender waits for its outcome.
type waited struct {
	panics, hold bool
	release      chan struct{}
	bounced      chan bool
}

func (w *waited) Bounce() { w.bounced <- true }

func waitedKind() Kind {
	return Kind{Name: "thing", New: func(string) actor.Actor {
		return actorFunc(func(c actor.Context) {
			message, ok := c.Message().(*waited)
			switch {
			case !ok:
			case message.panics:
				panic("a bug")
			case message.hold:
				<-message.release
				c.Stop(c.Self())
			default:
				message.bounced <- false
			}
		})
	}}
}

// TestAMessageThatIsNotExecutedIsBounced checks the three cases in which the library would lose a message.
func TestAMessageThatIsNotExecutedIsBounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, ownAll(), waitedKind())
		run(t, c)
		tell := func(message *waited) *waited {
			message.bounced, message.release = make(chan bool, 1), make(chan struct{})
			if err := c.Tell("thing", "a", message); err != nil {
				t.Fatal(err)
			}
			return message
		}
		want := func(why string, message *waited, bounced bool) {
			t.Helper()
			if got := <-message.bounced; got != bounced {
				t.Errorf("%s: bounced is %v, want %v", why, got, bounced)
			}
		}
		want("executed", tell(&waited{}), false)
		want("its execution panicked", tell(&waited{panics: true}), true)
		synctest.Wait()
		holding := tell(&waited{hold: true})
		behind := tell(&waited{})
		close(holding.release)
		want("after the stop", behind, true)
		synctest.Wait()
		dead := &waited{bounced: make(chan bool, 1)}
		c.system.Root.Send(c.system.NewLocalPID("nobody"), dead)
		want("sent to nobody", dead, true)
		time.Sleep(time.Second) // the library counts dead letters for one second
	})
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	answer := &protos.Answer{Payload: []byte("x")}
	tests := map[string]struct {
		ends []func(*Request)
		want reply
	}{
		"answered first":  {[]func(*Request){func(r *Request) { r.Answer(answer) }, (*Request).Bounce, (*Request).Abort}, reply{answer: answer}},
		"bounced first":   {[]func(*Request){(*Request).Bounce, func(r *Request) { r.Answer(answer) }}, reply{err: ErrMoved}},
		"aborted first":   {[]func(*Request){(*Request).Abort, (*Request).Bounce}, reply{err: ErrPanicked}},
		"answered by two": {[]func(*Request){func(r *Request) { r.Answer(answer) }, func(r *Request) { r.Answer(&protos.Answer{}) }}, reply{answer: answer}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := newRequest(&protos.Call{}, 3)
			for _, end := range test.ends {
				end(request)
			}
			if got := <-request.reply; got.answer != test.want.answer || !errors.Is(got.err, test.want.err) {
				t.Errorf("the reply is %v, want %v", got, test.want)
			}
			if len(request.reply) != 0 {
				t.Error("there is a second reply")
			}
		})
	}
}
