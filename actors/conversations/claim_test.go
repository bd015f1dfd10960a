package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/assistant"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// seen gathers the frames that a follower of a turn has seen so far.
type seen struct {
	mu     sync.Mutex
	events []string
}

func (s *seen) String() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.events, " ")
}

// watching follows a turn in parallel with the test.
func watching(turn *assistant.Turn) *seen {
	s := &seen{}
	go turn.Frames(context.Background(), func(frame conversation.TurnFrame) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		event := frame.Event
		if encoded, _ := json.Marshal(frame.Data); event == "error" { // frames are JSON
			var data struct{ Code string }
			_ = json.Unmarshal(encoded, &data)
			event += "=" + data.Code
		}
		s.events = append(s.events, event)
		return true
	})
	return s
}

// answers is a model that answers yes.
func answers(_ context.Context, _ int, text func(string)) (conversation.ModelReply, error) {
	text("Yes.")
	return conversation.ModelReply{Text: "Yes."}, nil
}

// allow makes the model call the tool, which its member always allows, and then thank.
func (o *counter) allow() { o.always, o.model = []string{"goals_create"}, proposes }

// TestNothingIsShownBeforeTheClaimIsStored uses a slow store.
func TestNothingIsShownBeforeTheClaimIsStored(t *testing.T) {
	for _, c := range []struct {
		name   string
		set    func(o *counter)
		want   string
		writes int
	}{
		{"an answer", func(o *counter) { o.model = answers }, "start status text status done", 0},
		{"a call of a tool", (*counter).allow, "start status tool_call tool_result action text status done", 1},
	} {
		atCounter(t, func(o *counter) {
			c.set(o)
			release := o.store.HoldPuts()
			began := time.Now()
			turn, err := o.Ask(context.Background(), o.asker(), conversation.Question{Text: "What?"})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			follower := watching(turn)
			if got := follower.String(); got != "start status" || time.Since(began) != 0 {
				t.Errorf("%s: before the claim is stored a follower has seen %s", c.name, got)
			}
			if o.rounds != 1 || o.writes != 0 || o.spent != (conversation.Usage{}) || o.tokens != 0 {
				t.Errorf("%s: before the claim is stored: %d rounds, %d writes, %v, %d tokens", c.name, o.rounds, o.writes, o.spent, o.tokens)
			}
			var back []string
			go func() {
				_ = o.Follow(context.Background(), domain.AppRef{Org: "acme", App: "web"}, member().ID, turn.Conversation(), 0, func(frame conversation.TurnFrame) bool {
					back = append(back, frame.Event)
					return true
				})
			}()
			foreign := make(chan error, 1)
			go func() {
				foreign <- o.Follow(context.Background(), domain.AppRef{Org: "acme", App: "web"}, stranger().ID, turn.Conversation(), 0, nil)
			}()
			time.Sleep(time.Second)
			release()
			if err := <-foreign; domain.CodeOf(err) != domain.CodeNotFound {
				t.Errorf("%s: somebody else follows: %v", c.name, err)
			}
			if got := follower.String(); got != c.want || o.writes != c.writes || o.spent == (conversation.Usage{}) {
				t.Errorf("%s: %s, %d writes, %v", c.name, got, o.writes, o.spent)
			}
			if got := strings.Join(back, " "); got != c.want {
				t.Errorf("%s: who came back meanwhile has seen %s", c.name, got)
			}
		})
	}
}

// TestAQuestionThatIsNotStoredLeavesNothing makes the store fail for a new conversation and for one that continues,
// with the write stored and with the write lost.
func TestAQuestionThatIsNotStoredLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		first bool
		fault func(o *counter)
		// view is the conversation right after the failure; late is the conversation after the lease.
		view, late string
	}{
		{"a new one", true, func(o *counter) { o.store.FailPuts(1, errors.New("away")) }, "not_found", "not_found"},
		{"one that goes on", false, func(o *counter) { o.store.FailPuts(1, errors.New("away")) }, "idle | assistant: Yes.", "idle | assistant: Yes."},
		{"a new one, stored", true, func(o *counter) { o.store.LosePuts(1, errors.New("away")) }, "running | user: What?", "idle | note: " + lostNote},
		{"one that goes on, stored", false, func(o *counter) { o.store.LosePuts(1, errors.New("away")) }, "running | user: What?", "idle | note: " + lostNote},
	} {
		atCounter(t, func(o *counter) {
			o.model = answers
			question := conversation.Question{Text: "What?"}
			if !c.first {
				turn := o.ask("Before?")
				frames(turn)
				synctest.Wait()
				question.ConversationID = turn.Conversation()
			}
			spent, cancelled := o.spent, false
			o.model = func(ctx context.Context, n int, text func(string)) (conversation.ModelReply, error) {
				reply, err := waits(ctx, n, text)
				cancelled = true
				return reply, err
			}
			c.fault(o)
			turn, err := o.Ask(context.Background(), o.asker(), question)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if got := frames(turn); got != begun+"error unavailable" || !cancelled || o.spent != spent {
				t.Errorf("%s: %s, cancelled %v, spent %v", c.name, got, cancelled, o.spent)
			}
			// A question right after it is refused before anything begins. It succeeds soon.
			question.ConversationID = turn.Conversation()
			if c.view == "not_found" {
				question.ConversationID = ""
			}
			_, err = o.Ask(context.Background(), o.asker(), question)
			if refused, ok := errors.AsType[*domain.Error](err); !ok || refused.Code != domain.CodeUnavailable || refused.RetryAfter <= 0 {
				t.Errorf("%s: asking again at once: %v", c.name, err)
			}
			if got := o.viewOf(turn.Conversation()); got != c.view {
				t.Errorf("%s: %s, want %s", c.name, got, c.view)
			}
			time.Sleep(conversation.TurnLease)
			if got := o.viewOf(turn.Conversation()); got != c.late {
				t.Errorf("%s, later: %s, want %s", c.name, got, c.late)
			}
			o.model = answers
			again, err := o.Ask(context.Background(), o.asker(), question)
			if err != nil {
				t.Fatalf("%s, later: %v", c.name, err)
			}
			if got := frames(again); got != begun+"text Yes., status done, done" {
				t.Errorf("%s, later: %s", c.name, got)
			}
		})
	}
}

// TestAPlaceIsKeptForOneQuestion lets two nodes ask. The reservation is released, lost with its activation, or held for
// too long.
func TestAPlaceIsKeptForOneQuestion(t *testing.T) {
	ctx := context.Background()
	kept := func(id string) *conversation.TurnRequest {
		question := asking(member(), false)
		question.Reservation = id
		return question
	}
	for _, c := range []struct {
		name    string
		between func(h *talk, first *conversation.TurnRequest)
		// second and store are the errors of the second reservation and of the first claim.
		second, store string
	}{
		{"nothing", func(*talk, *conversation.TurnRequest) {}, "conflict turn_running 0", ""},
		{"almost too long", func(*talk, *conversation.TurnRequest) { time.Sleep(conversation.TurnLease - 1) }, "conflict turn_running 0", ""},
		{"too long", func(*talk, *conversation.TurnRequest) { time.Sleep(conversation.TurnLease) }, "", "conflict turn_running 0"},
		{"given back", func(h *talk, first *conversation.TurnRequest) { _ = h.Release(ctx, first) }, "", "conflict turn_running 0"},
		{"somebody else's given back", func(h *talk, _ *conversation.TurnRequest) { _ = h.Release(ctx, kept("rsv_9")) }, "conflict turn_running 0", ""},
		{"moved", func(h *talk, _ *conversation.TurnRequest) { h.EvictAll() }, "", "conflict turn_running 0"},
		{"asked again under the same place", func(h *talk, first *conversation.TurnRequest) { _, _ = h.Reserve(ctx, first) }, "conflict turn_running 0", ""},
	} {
		talking(t, func(h *talk) {
			exchange := h.mustBegin(true)
			if _, err := h.Finish(ctx, &exchange.Conversation, ""); err != nil {
				t.Fatal(err)
			}
			first, second := kept("rsv_1"), kept("rsv_2")
			ahead, err := h.Reserve(ctx, first)
			if err != nil || ahead.Conversation.Turn != 2 || len(ahead.Messages) != 2 {
				t.Fatalf("%s: %v, %v", c.name, ahead, err)
			}
			first.Turn, second.Turn = 2, 2
			c.between(h, first)
			_, err = h.Reserve(ctx, second)
			if got := refusalOf(err); got != c.second {
				t.Errorf("%s: the second place: %q, want %q", c.name, got, c.second)
			}
			stored, err := h.Begin(ctx, first)
			if got := refusalOf(err); got != c.store {
				t.Errorf("%s: the first claim: %q, want %q", c.name, got, c.store)
			}
			if err == nil && fmt.Sprint(stored) != fmt.Sprint(ahead) && c.name == "nothing" {
				t.Errorf("%s: stored was\n%v, told\n%v", c.name, stored, ahead)
			}
			if c.second == "" {
				if _, err := h.Begin(ctx, second); err != nil {
					t.Errorf("%s: the second claim: %v", c.name, err)
				}
			}
		})
	}
}

// TestALostPlaceGoesToWhoIsFirst ends the activation of a reservation. Another question is stored, answered and
// finished before the claim of the first one arrives.
func TestALostPlaceGoesToWhoIsFirst(t *testing.T) {
	talking(t, func(h *talk) {
		ctx := context.Background()
		exchange := h.mustBegin(true)
		if _, err := h.Finish(ctx, &exchange.Conversation, ""); err != nil {
			t.Fatal(err)
		}
		first := asking(member(), false)
		first.Reservation, first.Turn = "rsv_1", 2
		if _, err := h.Reserve(ctx, first); err != nil {
			t.Fatal(err)
		}
		h.EvictAll()
		other := h.mustBegin(false)
		if _, err := h.Finish(ctx, &other.Conversation, ""); err != nil {
			t.Fatal(err)
		}
		_, err := h.Begin(ctx, first)
		h.wantRefused("the claim of a turn that somebody else had", err, "conflict turn_over")
	})
}

// silent is a node that stands still: the conversation receives no heartbeats of its turns.
type silent struct {
	assistant.Conversations
	// claimed runs after the claim of an action.
	claimed func()

	mu    sync.Mutex
	still bool
	heard int
}

func (s *silent) Claim(ctx context.Context, of *conversation.Conversation, action string, by domain.User, reason string) (conversation.Transcript, error) {
	exchange, err := s.Conversations.Claim(ctx, of, action, by, reason)
	s.claimed()
	return exchange, err
}

func (s *silent) Renew(ctx context.Context, of *conversation.Conversation) error {
	s.mu.Lock()
	s.heard++
	still := s.still
	s.mu.Unlock()
	if still {
		return domain.Unavailable("The conversation", time.Second)
	}
	return s.Conversations.Renew(ctx, of)
}

func (s *silent) stand(still bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.still = still
}

// TestATurnLivesWhileItsNodeIsHeardOf runs a turn for the longest allowed time, while its conversation moves, is read,
// and is asked again.
func TestATurnLivesWhileItsNodeIsHeardOf(t *testing.T) {
	atCounter(t, func(o *counter) {
		node := &silent{Conversations: &o.talk.Conversations}
		o.Assistant.Conversations = node
		o.model = waits
		turn := o.ask("What?")
		follower := watching(turn)
		for n := range int(conversation.TurnTime/time.Second) - 1 {
			time.Sleep(time.Second)
			if n%40 == 7 {
				o.EvictAll()
			}
			if got := o.viewOf(turn.Conversation()); got != "running | user: What?" {
				t.Fatalf("after %d s: %s", n+1, got)
			}
		}
		time.Sleep(2 * time.Second)
		if got := follower.String(); got != "start status text text status done" || node.heard < 20 || node.heard > 30 {
			t.Errorf("%s, heard of %d times", got, node.heard)
		}
	})
}

// TestATurnOfALostNodeEnds lets the node of a turn stand still, for a while or for good. Meanwhile its conversation is
// read or not, also in a new activation.
func TestATurnOfALostNodeEnds(t *testing.T) {
	const alive = "running | user: What?"
	const ended = "idle | note: " + lostNote
	for _, c := range []struct {
		name  string
		still time.Duration
		moves bool
		// view is the conversation as read at the end of the stand-still; after lists the frames at the end.
		view, after string
	}{
		{"a pause", conversation.TurnLease - 6*time.Second, false, alive, "start status text text status done"},
		{"too long a pause", conversation.TurnLease, false, ended, "start status text error=conflict"},
		{"a much longer pause", 3 * conversation.TurnLease, false, ended, "start status text error=conflict"},
		{"too long a pause, and the conversation moves", conversation.TurnLease, true, alive, "start status text text status done"},
	} {
		atCounter(t, func(o *counter) {
			node := &silent{Conversations: &o.talk.Conversations}
			o.Assistant.Conversations = node
			o.model = waits
			turn := o.ask("What?")
			follower := watching(turn)
			synctest.Wait()
			node.stand(true)
			time.Sleep(c.still)
			if c.moves {
				o.EvictAll()
			}
			if got := o.viewOf(turn.Conversation()); got != c.view {
				t.Errorf("%s: %s, want %s", c.name, got, c.view)
			}
			node.stand(false)
			time.Sleep(conversation.TurnTime)
			if got := follower.String(); got != c.after {
				t.Errorf("%s: %s, want %s", c.name, got, c.after)
			}
			if view := o.viewOf(turn.Conversation()); c.view == ended && view != ended {
				t.Errorf("%s: it wrote when it came back: %s", c.name, view)
			}
		})
	}
}

// TestANewActivationCountsAnew loses a node together with the conversation's actor.
func TestANewActivationCountsAnew(t *testing.T) {
	talking(t, func(h *talk) {
		exchange := h.mustBegin(true)
		time.Sleep(conversation.TurnLease - time.Second)
		h.EvictAll()
		h.want("the first look of the new activation", "running | user: What?")
		time.Sleep(conversation.TurnLease - 1)
		h.want("before the lease is over", "running | user: What?")
		_, err := h.begin(member(), false)
		h.wantRefused("asking meanwhile", err, "conflict turn_running 0")
		time.Sleep(time.Nanosecond)
		err = h.Renew(context.Background(), &exchange.Conversation)
		h.wantRefused("a sign of life that comes late", err, "conflict turn_over")
		h.mustBegin(false)
		if err := h.Renew(context.Background(), &exchange.Conversation); refusal(err) != "conflict turn_over" {
			t.Errorf("a sign of life of an earlier turn: %v", err)
		}
	})
}

// TestASlowStoreLosesNoTurn has a conversation that receives nothing while it saves.
func TestASlowStoreLosesNoTurn(t *testing.T) {
	talking(t, func(h *talk) {
		exchange := h.mustBegin(true)
		for range 5 {
			release := h.store.HoldPuts()
			done := make(chan error, 1)
			go func() {
				_, err := h.Append(context.Background(), &exchange.Conversation, []conversation.Message{{Role: conversation.RoleAssistant, Text: "Well"}}, nil)
				done <- err
			}()
			time.Sleep(grain.IOTime - time.Second)
			release()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			h.want("after a slow write", "running | assistant: Well")
		}
	})
}

// TestAReturningNodeDoesNotExecute lets a node stand still between the claim of an approved action and its execution,
// for longer than the conversation waits.
func TestAReturningNodeDoesNotExecute(t *testing.T) {
	for _, outside := range []bool{false, true} {
		at := map[bool]func(*testing.T, func(*counter)){false: atCounter, true: atDesk}[outside]
		at(t, func(o *counter) {
			o.model = proposes
			turn := o.ask("Make a goal.")
			frames(turn)
			rows, err := o.Actions(context.Background(), domain.AppRef{Org: "acme", App: "web"}, member().ID)
			if err != nil || len(rows) != 1 {
				t.Fatalf("%v, %v", rows, err)
			}
			node := &silent{Conversations: &o.talk.Conversations}
			o.Assistant.Conversations = node
			stand := func() {
				node.stand(true)
				time.Sleep(conversation.TurnLease)
				o.viewOf(turn.Conversation())
				node.stand(false)
			}
			want := "idle failed | tool: The execution was cut off; whether it took effect is not known."
			if outside {
				want = "idle failed | tool: The sending was cut off; whether it was delivered is not known. It is not sent again."
			}
			node.claimed = stand
			o.Approvals = claiming{&o.talk.Conversations, stand}
			if outside {
				_, err = o.ApproveRequest(context.Background(), o.second(domain.RoleMember), rows[0].ID, "yes")
			} else {
				var approved *assistant.Turn
				if approved, err = o.Approve(context.Background(), o.asker(), rows[0].ID, "yes"); err == nil {
					frames(approved)
				}
			}
			synctest.Wait()
			view, _, _ := strings.Cut(o.viewOf(turn.Conversation()), "|")
			exchange, getErr := o.Conversation(context.Background(), domain.AppRef{Org: "acme", App: "web"}, member().ID, turn.Conversation())
			content := exchange.Messages[2].Results[0].Content
			if got := view + "| tool: " + content; err != nil || getErr != nil || got != want || o.writes != 0 {
				t.Errorf("outside %v: %s, %v, %v, %d executions", outside, got, err, getErr, o.writes)
			}
			if outside && exchange.Actions[0].Sending != conversation.SendingUncertain {
				t.Errorf("the sending is %s", exchange.Actions[0].Sending)
			}
			if slices.Contains(o.recorded(), "ai.action.executed by Ada") {
				t.Errorf("the ledger has %v", o.recorded())
			}
		})
	}
}

// TestTheLedgerHasWhatExpired leaves an action undecided. The sweep, the next question and the next reservation notice
// the expiry.
func TestTheLedgerHasWhatExpired(t *testing.T) {
	for name, notice := range map[string]func(h *talk){
		"the sweep":         func(h *talk) { h.sweep(); h.sweep() },
		"the next question": func(h *talk) { h.mustBegin(false) },
		"the next place": func(h *talk) {
			question := asking(member(), false)
			question.Reservation = "rsv_1"
			if _, err := h.Reserve(context.Background(), question); err != nil {
				h.t.Error(err)
			}
			h.EvictAll()
			h.sweep()
		},
	} {
		talking(t, func(h *talk) {
			exchange := h.mustBegin(true)
			h.propose(exchange, "act_1")
			proposed := time.Now()
			time.Sleep(conversation.ActionLifetime + time.Minute)
			notice(h)
			synctest.Wait()
			entered := h.store.Entries()
			if len(entered) != 1 {
				t.Fatalf("%s: %d entries", name, len(entered))
			}
			entry := entered[0]
			var metadata struct {
				Via, Tool, Status, Member string
				Actor                     struct{ Kind, ConversationID string }
			}
			if err := json.Unmarshal(entry.Metadata, &metadata); err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprint(metadata), "{assistant goals_create expired usr_ada {assistant cnv_1}}"; got != want {
				t.Errorf("%s: the metadata is %s, want %s", name, got, want)
			}
			entry.Metadata = nil
			want := domain.LedgerEntry{At: proposed.Add(conversation.ActionLifetime), Org: "acme", App: "web", Kind: "ai.action.expired", Subject: "act_1"}
			if fmt.Sprint(entry) != fmt.Sprint(want) {
				t.Errorf("%s: the entry is\n%v, want\n%v", name, entry, want)
			}
		})
	}
}
