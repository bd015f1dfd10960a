package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/conversation"
	"svc/protos"
)

// talk is a host of conversations with a manual sweeper.
type talk struct {
	*actorstest.Host
	t     *testing.T
	store *actorstest.Store
	Conversations
	// faulted says that the store has failed, so that copies written afterwards may lag.
	faulted bool
}

// Two users of the tests.
func member() domain.User { return domain.User{ID: "usr_ada", Email: "ada@acme.example", Name: "Ada"} }

func stranger() domain.User {
	return domain.User{ID: "usr_eve", Email: "eve@acme.example", Name: "Eve"}
}

func talking(t *testing.T, test func(h *talk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &talk{t: t, store: actorstest.NewStore()}
		node := &grain.Node{Store: h.store, Workers: grain.NewWorkers(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		h.Host = actorstest.NewHost(t, Kinds(node, h.store)...)
		h.Actors = h.Host
		test(h)
	})
}

// renew renews the claim of a turn for a while.
func (h *talk) renew(of *conversation.Conversation, during time.Duration) {
	h.t.Helper()
	for range during / (5 * time.Second) {
		if err := h.Renew(context.Background(), of); err != nil {
			h.t.Error(err)
		}
		time.Sleep(5 * time.Second)
	}
}

func seed(person domain.User) conversation.Conversation {
	return conversation.Conversation{ID: "cnv_1", Org: "acme", App: "web", Member: person}
}

// begin asks a question; the first question makes a new conversation.
func (h *talk) begin(person domain.User, create bool) (conversation.Transcript, error) {
	return h.Begin(context.Background(), asking(person, create))
}

// asking is a user's question.
func asking(person domain.User, create bool) *conversation.TurnRequest {
	return &conversation.TurnRequest{Conversation: seed(person), New: create, Text: "What?", ContextPath: "/page"}
}

func (h *talk) mustBegin(create bool) conversation.Transcript {
	h.t.Helper()
	exchange, err := h.begin(member(), create)
	if err != nil {
		h.t.Fatal(err)
	}
	return exchange
}

// propose makes the running turn propose an action and end.
func (h *talk) propose(exchange conversation.Transcript, id string) {
	h.t.Helper()
	now := time.Now()
	action := conversation.Action{
		ID: id, ConversationID: "cnv_1", CallID: "call_" + id, Tool: "goals_create", Effect: conversation.EffectWrite, Status: conversation.ActionProposed,
		Input: json.RawMessage(`{}`), ProposedAt: now, ExpiresAt: now.Add(conversation.ActionLifetime),
	}
	messages := []conversation.Message{
		{Role: conversation.RoleAssistant, Calls: []conversation.ToolCall{{ID: action.CallID, Name: action.Tool, Input: action.Input}}},
		{Role: conversation.RoleTool, Results: []conversation.ToolResult{{CallID: action.CallID, Name: action.Tool, Content: "waiting"}}},
	}
	if _, err := h.Append(context.Background(), &exchange.Conversation, messages, []conversation.Action{action}); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.Finish(context.Background(), &exchange.Conversation, ""); err != nil {
		h.t.Fatal(err)
	}
}

// sweep delivers the wake-ups that are due.
func (h *talk) sweep() {
	h.t.Helper()
	due, err := h.store.Due(context.Background(), time.Now(), 100)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, wake := range due {
		call := &protos.Call{Kind: wake.Kind, Identity: wake.Identity, Method: cluster.WakeMethod, Payload: []byte(`"` + wake.Name + `"`)}
		if answer, err := h.Call(context.Background(), call); err != nil || answer.GetFailure() != nil {
			h.t.Errorf("waking %v: %v %v", wake, answer, err)
		}
	}
}

// view returns the stored conversation in one line.
func (h *talk) view() string {
	h.t.Helper()
	exchange, err := h.Get(context.Background(), domain.AppRef{Org: "acme", App: "web"}, member().ID, "cnv_1")
	if err != nil {
		return string(domain.CodeOf(err))
	}
	line := string(exchange.Conversation.State)
	for _, action := range exchange.Actions {
		line += " " + string(action.Status)
	}
	if n := len(exchange.Messages); n > 0 {
		last := exchange.Messages[n-1]
		line += " | " + string(last.Role) + ": " + last.Text
		for _, result := range last.Results {
			line += result.Content
		}
	}
	return line
}

func (h *talk) want(what, view string) {
	h.t.Helper()
	if got := h.view(); got != view {
		h.t.Errorf("%s: %s, want %s", what, got, view)
	}
}

func refusal(err error) string {
	refused, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	line := string(refused.Code) + " " + refused.Reason
	if refused.Turn != nil {
		line += " " + string(refused.Turn.ActionStatus) + fmt.Sprint(len(refused.Turn.Actions))
	}
	return line
}

func (h *talk) wantRefused(what string, err error, want string) {
	h.t.Helper()
	if got := refusal(err); got != want {
		h.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func TestAConversationRunsOneTurnAndBelongsToItsMember(t *testing.T) {
	talking(t, func(h *talk) {
		_, err := h.begin(member(), false)
		h.wantRefused("going on with nothing", err, "not_found ")
		first := h.mustBegin(true)
		h.want("while the turn runs", "running | user: What?")
		_, err = h.begin(member(), false)
		h.wantRefused("a second question", err, "conflict turn_running 0")
		_, err = h.begin(stranger(), false)
		h.wantRefused("somebody else's question", err, "not_found ")
		_, err = h.Get(context.Background(), domain.AppRef{Org: "acme", App: "web"}, stranger().ID, "cnv_1")
		h.wantRefused("somebody else's look", err, "not_found ")
		if _, err := h.Finish(context.Background(), &first.Conversation, "a note"); err != nil {
			t.Fatal(err)
		}
		h.want("after its end", "idle | note: a note")
		_, err = h.Append(context.Background(), &first.Conversation, []conversation.Message{{Role: conversation.RoleAssistant, Text: "late"}}, nil)
		h.wantRefused("what comes late", err, "conflict turn_over")
		h.mustBegin(false)
		_, err = h.Append(context.Background(), &first.Conversation, []conversation.Message{{Role: conversation.RoleAssistant, Text: "late"}}, nil)
		h.wantRefused("what comes in a later turn", err, "conflict turn_over")
	})
}

// TestWhatAnActionMeets goes through the decisions on an action, each also after the end of the activation that made
// the action.
func TestWhatAnActionMeets(t *testing.T) {
	for _, restart := range []bool{false, true} {
		talking(t, func(h *talk) {
			ctx := context.Background()
			again := func() {
				if restart {
					h.EvictAll()
				}
			}
			exchange := h.mustBegin(true)
			h.propose(exchange, "act_1")
			again()
			h.want("proposed", "awaiting proposed | tool: waiting")
			_, err := h.begin(member(), false)
			h.wantRefused("a question", err, "conflict actions_pending 1")
			_, err = h.Decide(ctx, &exchange.Conversation, "act_1", stranger(), conversation.ActionRejected, "no")
			h.wantRefused("somebody else's rejection", err, "not_found ")
			_, err = h.Claim(ctx, &exchange.Conversation, "act_1", stranger(), "yes")
			h.wantRefused("somebody else's approval", err, "not_found ")
			if _, err := h.Decide(ctx, &exchange.Conversation, "act_1", member(), conversation.ActionRejected, "no"); err != nil {
				t.Fatal(err)
			}
			again()
			h.want("rejected", "idle rejected | tool: The member refused the action. Nothing was written. The reason: no")
			_, err = h.Claim(ctx, &exchange.Conversation, "act_1", member(), "yes")
			h.wantRefused("approving what is rejected", err, "conflict already_decided rejected0")

			exchange = h.mustBegin(false)
			h.propose(exchange, "act_2")
			again()
			claimed, err := h.Claim(ctx, &exchange.Conversation, "act_2", member(), "yes")
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.Claim(ctx, &exchange.Conversation, "act_2", member(), "yes")
			h.wantRefused("approving twice", err, "conflict already_decided executing0")
			_, err = h.Decide(ctx, &exchange.Conversation, "act_2", member(), conversation.ActionRejected, "no")
			h.wantRefused("rejecting what is being executed", err, "conflict already_decided executing0")
			again()
			action := conversation.Action{ID: "act_2", Status: conversation.ActionExecuted, Result: &conversation.ActionResult{OK: true, Summary: "done"}, RequestID: "req_1"}
			if _, err := h.Settle(ctx, &claimed.Conversation, &action, "result"); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Finish(ctx, &claimed.Conversation, ""); err != nil {
				t.Fatal(err)
			}
			again()
			h.want("executed", "idle rejected executed | tool: result")

			exchange = h.mustBegin(false)
			h.propose(exchange, "act_3")
			if _, err := h.Decide(ctx, &exchange.Conversation, "act_3", stranger(), conversation.ActionRevoked, "never"); err != nil {
				t.Fatal(err)
			}
			h.want("revoked by an administrator", "idle rejected executed revoked | tool: An administrator denied the action. Nothing was written. The reason: never")

			exchange = h.mustBegin(false)
			h.propose(exchange, "act_4")
			time.Sleep(conversation.ActionLifetime)
			_, err = h.Claim(ctx, &exchange.Conversation, "act_4", member(), "yes")
			h.wantRefused("approving too late", err, "conflict already_decided expired0")
			again()
			h.sweep()
			h.want("expired", "idle rejected executed revoked expired | tool: Nobody decided on the action in time, so it expired. Nothing was written.")
			h.mustBegin(false)
		})
	}
}

func TestATurnThatNeverComesBackIsEnded(t *testing.T) {
	talking(t, func(h *talk) {
		h.propose(h.mustBegin(true), "act_1")
		exchange, err := h.Claim(context.Background(), &conversation.Conversation{ID: "cnv_1", Org: "acme", App: "web"}, "act_1", member(), "yes")
		if err != nil {
			t.Fatal(err)
		}
		h.EvictAll()
		h.renew(&exchange.Conversation, conversation.TurnTime)
		h.sweep()
		h.want("in its time", "running executing | tool: waiting")
		h.renew(&exchange.Conversation, turnSlack)
		h.sweep()
		h.want("after its time", "idle failed | note: "+lostNote)
		_, err = h.Finish(context.Background(), &exchange.Conversation, "")
		h.wantRefused("its own late end", err, "conflict turn_over")
		if due, err := h.store.Due(context.Background(), time.Now(), 10); err != nil || len(due) != 0 {
			t.Errorf("still due: %v, %v", due, err)
		}
	})
}

func TestConversationsArePurgedAfterNinetyDays(t *testing.T) {
	talking(t, func(h *talk) {
		h.propose(h.mustBegin(true), "act_1")
		time.Sleep(conversation.Lifetime - time.Second)
		h.sweep()
		if h.view() == "not_found" {
			t.Error("purged too early")
		}
		time.Sleep(time.Second)
		if list, err := h.List(context.Background(), domain.AppRef{Org: "acme", App: "web"}, member().ID); err != nil || len(list) != 0 {
			t.Errorf("the inbox lists %v, %v", list, err)
		}
		h.sweep()
		h.want("after 90 days", "not_found")
		entities, err := h.store.Load(context.Background(), "conversation/acme/web/cnv_1")
		for _, entity := range entities {
			if !entity.Deleted {
				t.Errorf("kept %s %s, %v", entity.Kind, entity.ID, err)
			}
		}
		if due, err := h.store.Due(context.Background(), time.Now().Add(time.Hour), 10); err != nil || len(due) != 0 {
			t.Errorf("still due: %v, %v", due, err)
		}
	})
}
