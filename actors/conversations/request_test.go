package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/actors/assistant"
	"svc/domain"
	"svc/domain/conversation"
)

// requests is the number of random histories of a request; 2000 by hand.
var requests = flag.Int("requests", 100, "random histories of a request to the outside")

// atDesk is atCounter with a tool that reaches the outside, and two members.
func atDesk(t *testing.T, test func(o *counter)) {
	t.Helper()
	atCounter(t, func(o *counter) {
		o.effect, o.model = conversation.EffectExternal, proposes
		o.roles = map[string]domain.Role{member().ID: domain.RoleMember, stranger().ID: domain.RoleMember}
		test(o)
	})
}

// second is the second operator in a console session.
func (o *counter) second(role domain.Role) conversation.Principal {
	return conversation.Principal{
		User: stranger(), Ref: domain.AppRef{Org: "acme"},
		Grant: domain.Grant{Token: domain.Token{ID: "tok_con", Kind: domain.TokenConsole, Scopes: domain.Scopes()}, Role: role, Permissions: domain.EffectivePermissions(role, domain.Scopes())},
	}
}

// request makes the member's assistant ask for the tool and returns the action's id.
func (o *counter) request() (id string, turn *assistant.Turn) {
	o.t.Helper()
	turn = o.ask("Send it.")
	if got, want := frames(turn), begun+"tool_call, approval_required, text This request is waiting for a second operator's decision, and nothing has been sent: Create a goal., status awaiting, done"; got != want {
		o.t.Fatalf("the frames are\n%s, want\n%s", got, want)
	}
	queue, err := o.Requests(context.Background(), o.second(domain.RoleMember))
	if err != nil || len(queue) != 1 || queue[0].Member != member() {
		o.t.Fatalf("the queue is %v, %v", queue, err)
	}
	return queue[0].Action.ID, turn
}

// entry is the queue's copy of the only request.
func (o *counter) entry() string {
	o.t.Helper()
	queue, err := o.Requests(context.Background(), o.second(domain.RoleMember))
	if err != nil || len(queue) != 1 {
		o.t.Fatalf("the queue is %v, %v", queue, err)
	}
	return fate(&queue[0])
}

func fate(entry *conversation.Approval) string {
	line := strings.TrimSpace(string(entry.Action.Status) + " " + string(entry.Action.Sending))
	if result := entry.Action.Result; result != nil {
		line += fmt.Sprintf(": %v %s", result.OK, result.Summary)
	}
	return line
}

// queueing is the port under another name than its methods.
type queueing = assistant.Approvals

// claiming is the queue with a function that runs right after a claim.
type claiming struct {
	queueing
	then func()
}

func (c claiming) ClaimSecond(ctx context.Context, of *conversation.Conversation, action string, by domain.User, reason string) (conversation.Transcript, error) {
	exchange, err := c.queueing.ClaimSecond(ctx, of, action, by, reason)
	c.then()
	return exchange, err
}

// TestWhatASecondOperatorsApprovalChecks changes the world before an approval: before the claim and after it.
func TestWhatASecondOperatorsApprovalChecks(t *testing.T) {
	const waits = "awaiting proposed | tool: Requested. Nothing was sent; a second operator of the organization decides."
	const sent = "executed sent: true goals_create answered 201"
	for _, c := range []struct {
		name    string
		change  func(o *counter, by *conversation.Principal)
		refused string
		// late is the result of the request if the change comes after the claim.
		late string
	}{
		{"nothing", func(*counter, *conversation.Principal) {}, "", sent},
		{"the target", func(o *counter, _ *conversation.Principal) { o.target = `{"name":"other"}` }, "conflict target_changed proposed0", "failed refused: false Not executed: The target has changed since the action was proposed; ask again."},
		{"the requester left", func(o *counter, _ *conversation.Principal) { delete(o.roles, member().ID); o.member = false }, "forbidden requester_not_allowed", "failed refused: false Not executed: the member may not use the assistant of this application any more"},
		{"the requester lost a right", func(o *counter, _ *conversation.Principal) { o.roles[member().ID] = domain.RoleViewer }, "forbidden requester_not_allowed", sent},
		{"the operator left", func(o *counter, by *conversation.Principal) {
			delete(o.roles, stranger().ID)
			by.Grant.Permissions = nil
		}, "forbidden ", "failed refused: false Not executed: Whoever decides on the request must be able to perform it."},
		{"the operator lost a right", func(o *counter, by *conversation.Principal) {
			o.roles[stranger().ID] = domain.RoleViewer
			*by = o.second(domain.RoleViewer)
		}, "forbidden ", "failed refused: false Not executed: Whoever decides on the request must be able to perform it."},
		{"the tool is denied", func(o *counter, _ *conversation.Principal) { o.policy.DeniedTools = []string{"goals_create"} }, "forbidden requester_not_allowed", "failed refused: false Not executed: The member who asked, the application's modules or the organization's rules do not allow the request any more."},
		{"the effect is denied", func(o *counter, _ *conversation.Principal) {
			o.policy.DeniedEffects = []conversation.Effect{conversation.EffectExternal}
		}, "forbidden requester_not_allowed", "failed refused: false Not executed: The member who asked, the application's modules or the organization's rules do not allow the request any more."},
		{"the scope is capped", func(o *counter, _ *conversation.Principal) { o.policy.MaxScope = domain.ScopeRead }, "forbidden requester_not_allowed", "failed refused: false Not executed: The member who asked, the application's modules or the organization's rules do not allow the request any more."},
		{"the one who asked", func(o *counter, by *conversation.Principal) { by.User = member() }, "forbidden second_operator_required", sent},
		{"another organization", func(_ *counter, by *conversation.Principal) { by.Ref.Org = "globex" }, "not_found ", sent},
		{"time", func(*counter, *conversation.Principal) { time.Sleep(conversation.ActionLifetime) }, "conflict already_decided expired0", ""},
		{"a rejection", func(o *counter, by *conversation.Principal) {
			if _, err := o.RejectRequest(context.Background(), *by, "act_2", "no"); err != nil {
				o.t.Error(err)
			}
		}, "conflict already_decided rejected0", ""},
		{"a withdrawal", func(o *counter, _ *conversation.Principal) {
			if _, err := o.Reject(context.Background(), o.asker(), "act_2", "no"); err != nil {
				o.t.Error(err)
			}
		}, "conflict already_decided rejected0", ""},
	} {
		atDesk(t, func(o *counter) {
			id, turn := o.request()
			by := o.second(domain.RoleMember)
			c.change(o, &by)
			entry, err := o.ApproveRequest(context.Background(), by, id, "yes")
			if got := refusalOf(err); got != c.refused {
				t.Errorf("%s: %q, want %q", c.name, got, c.refused)
			}
			switch view := o.viewOf(turn.Conversation()); {
			case err == nil && (fate(&entry) != sent || o.writes != 1):
				t.Errorf("%s: %s, %d sendings", c.name, fate(&entry), o.writes)
			case err != nil && (o.writes != 0 || strings.Contains(c.refused, "forbidden") && view != waits):
				t.Errorf("%s: %s, %d sendings", c.name, view, o.writes)
			}
		})
		if c.late == "" {
			continue
		}
		atDesk(t, func(o *counter) {
			id, _ := o.request()
			by := o.second(domain.RoleMember)
			o.Approvals = claiming{&o.talk.Conversations, func() {
				o.mu.Lock()
				defer o.mu.Unlock()
				c.change(o, new(conversation.Principal))
			}}
			entry, err := o.ApproveRequest(context.Background(), by, id, "yes")
			if got := fate(&entry); err != nil || got != c.late || o.writes != map[bool]int{true: 1}[c.late == sent] {
				t.Errorf("%s after the claim: %s, %v, %d sendings; want %s", c.name, got, err, o.writes, c.late)
			}
		})
	}
}

// TestWhatTheAnswerToARequestMeans goes through the possible answers of a route.
func TestWhatTheAnswerToARequestMeans(t *testing.T) {
	unsure := "; whether it was delivered is not known, and it is not sent again"
	for _, c := range []struct {
		outcome conversation.ToolOutcome
		want    string
	}{
		{conversation.ToolOutcome{Status: 200, Body: []byte(`{"ok":true,"error":null}`)}, "executed sent: true goals_create answered 200"},
		{conversation.ToolOutcome{Status: 204}, "executed sent: true goals_create answered 204"},
		{conversation.ToolOutcome{Status: 200, Body: []byte(`{"ok":false,"error":"the channel answered with status 500"}`)}, "failed uncertain: false goals_create answered 200" + unsure},
		{conversation.ToolOutcome{Status: 404, Body: []byte(`{"code":"not_found"}`)}, "failed refused: false goals_create answered 404 not_found"},
		{conversation.ToolOutcome{Status: 429, Body: []byte(`{"code":"rate_limited"}`)}, "failed refused: false goals_create answered 429 rate_limited"},
		{conversation.ToolOutcome{Status: 500, Body: []byte(`{"code":"internal"}`)}, "failed uncertain: false goals_create answered 500 internal" + unsure},
		{conversation.ToolOutcome{Status: 503, Body: []byte(`{"code":"unavailable"}`)}, "failed uncertain: false goals_create answered 503 unavailable" + unsure},
		{conversation.ToolOutcome{}, "failed uncertain: false goals_create answered 0" + unsure},
	} {
		atDesk(t, func(o *counter) {
			id, turn := o.request()
			o.outcome = &c.outcome
			entry, err := o.ApproveRequest(context.Background(), o.second(domain.RoleMember), id, "yes")
			if got := fate(&entry); err != nil || got != c.want {
				t.Errorf("%d: %s, %v; want %s", c.outcome.Status, got, err, c.want)
			}
			_, err = o.ApproveRequest(context.Background(), o.second(domain.RoleMember), id, "yes")
			if got := refusalOf(err); !strings.HasPrefix(got, "conflict already_decided") || o.writes != 1 {
				t.Errorf("%d: approving again: %s, %d sendings", c.outcome.Status, got, o.writes)
			}
			last := o.viewOf(turn.Conversation())
			if !strings.HasSuffix(last, "assistant: Thanks.") {
				t.Errorf("%d: the conversation did not go on: %s", c.outcome.Status, last)
			}
			want := []string{"ai.action.proposed by Ada", "ai.action.approved by Eve", "ai.action.executed by Ada"}
			if !slices.Equal(o.recorded(), want) {
				t.Errorf("%d: the ledger has %v", c.outcome.Status, o.recorded())
			}
		})
	}
}

// TestARequestThatIsCutOffIsUncertain lets the node stand still between the claim and the end of the sending, for
// longer than the claim lives.
func TestARequestThatIsCutOffIsUncertain(t *testing.T) {
	atDesk(t, func(o *counter) {
		id, turn := o.request()
		stands := make(chan struct{})
		o.execute = func() { <-stands }
		ctx, leave := context.WithTimeout(context.Background(), time.Second)
		defer leave()
		entry, err := o.ApproveRequest(ctx, o.second(domain.RoleMember), id, "yes")
		if got := fate(&entry); err != nil || got != "executing claimed" {
			t.Errorf("while it is sent: %s, %v", got, err)
		}
		time.Sleep(conversation.TurnTime + turnSlack)
		o.sweep()
		const lost = "failed uncertain: false The sending was cut off; whether it was delivered is not known. It is not sent again."
		if got := o.entry(); got != lost {
			t.Errorf("after the claim: %s", got)
		}
		_, err = o.ApproveRequest(context.Background(), o.second(domain.RoleMember), id, "again")
		if got := refusalOf(err); got != "conflict already_decided failed0" {
			t.Errorf("approving again: %s", got)
		}
		close(stands)
		frames(turn)
		time.Sleep(conversation.TurnTime)
		if got := o.entry(); got != lost || o.writes != 1 {
			t.Errorf("after the node came back: %s, %d sendings", got, o.writes)
		}
	})
}

// outsider is one random history of a request.
type outsider struct {
	*counter
	rng    *rand.Rand
	id     string
	stands []chan struct{}
	told   []string
}

// act lets one of the users, the store or time do something.
func (o *outsider) act() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	what := []string{"approve", "approve", "approve", "reject", "withdraw", "member approves", "sleep", "sleep", "restart", "fail", "lose", "leave", "sweep"}[o.rng.IntN(13)]
	switch what {
	case "approve":
		_, err = o.ApproveRequest(ctx, o.second(domain.RoleMember), o.id, "yes")
	case "reject":
		_, err = o.RejectRequest(ctx, o.second(domain.RoleMember), o.id, "no")
	case "withdraw":
		_, err = o.Reject(ctx, o.asker(), o.id, "no")
	case "member approves":
		_, err = o.Approve(ctx, o.asker(), o.id, "yes")
	case "sleep":
		time.Sleep([]time.Duration{time.Second, time.Minute, conversation.TurnTime + turnSlack, conversation.ActionLifetime}[o.rng.IntN(4)])
	case "restart":
		o.EvictAll()
	case "fail":
		o.store.FailPuts(1, errors.New("the store is away"))
	case "lose":
		o.store.LosePuts(1, errors.New("the store is away"))
	case "leave":
		o.mu.Lock()
		o.roles[member().ID] = []domain.Role{domain.RoleMember, domain.RoleViewer}[o.rng.IntN(2)]
		o.mu.Unlock()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, what+" "+refusalOf(err))
}

// TestRequestsAreSentAtMostOnce runs random histories: users approve, reject and withdraw in random orders and
// concurrently, the store fails, activations end, nodes stand still after the claim, and time passes. In all of them, a
// request is sent at most once, and its state agrees with the sending.
func TestRequestsAreSentAtMostOnce(t *testing.T) {
	met := map[string]int{}
	for n := range *requests {
		atDesk(t, func(c *counter) {
			o := &outsider{counter: c, rng: rand.New(rand.NewPCG(uint64(n), 11))}
			o.id, _ = o.request()
			stuck := o.rng.IntN(2) == 0
			if !stuck && o.rng.IntN(3) == 0 {
				o.outcome = &conversation.ToolOutcome{Status: 404}
			}
			o.execute = func() {
				if !stuck {
					return
				}
				stands := make(chan struct{})
				o.mu.Lock()
				o.stands = append(o.stands, stands)
				o.mu.Unlock()
				<-stands
			}
			for range 6 {
				var together sync.WaitGroup
				for range 1 + o.rng.IntN(3) {
					one := &outsider{counter: c, rng: rand.New(rand.NewPCG(o.rng.Uint64(), 1)), id: o.id}
					together.Go(func() { one.act(); o.mu.Lock(); defer o.mu.Unlock(); o.told = append(o.told, one.told...) })
				}
				together.Wait()
			}
			o.store.FailPuts(0, nil)
			o.store.LosePuts(0, nil)
			time.Sleep(conversation.ActionLifetime)
			o.sweep()
			before := o.entry()
			for _, stands := range o.stands {
				close(stands)
			}
			time.Sleep(conversation.ActionLifetime)
			o.sweep()
			after := o.entry()
			met[strings.SplitN(after, ":", 2)[0]]++
			fits := map[string][]int{"executed sent": {1}, "failed uncertain": {0, 1}, "failed refused": {0, 1}, "rejected": {0}, "expired": {0}}
			if left := fits[strings.SplitN(after, ":", 2)[0]]; before != after || !slices.Contains(left, o.writes) {
				t.Errorf("history %d: %s, then %s, with %d sendings\n%s", n, before, after, o.writes, strings.Join(o.told, "\n"))
			}
		})
	}
	for _, want := range []string{"executed sent", "failed uncertain", "failed refused", "rejected", "expired"} {
		if met[want] == 0 {
			t.Errorf("no history ended as %q: %v", want, met)
		}
	}
}

// TestTheQueueKeepsTheNewest fills a queue beyond its limit.
func TestTheQueueKeepsTheNewest(t *testing.T) {
	queue := &approvals{entries: map[string]conversation.Approval{}}
	now := time.Unix(1_800_000_000, 0)
	for n := range maxApprovals + 50 {
		action := conversation.Action{ID: fmt.Sprintf("act_%05d", n), Status: conversation.ActionRejected, ExpiresAt: now.Add(time.Minute)}
		if n < 10 {
			action.Status = conversation.ActionProposed
		}
		payload, err := json.Marshal(putApprovals{Entries: []conversation.Approval{{Action: action}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := approvalsKind.Apply(queue, now, "put", payload); err != nil {
			t.Fatal(err)
		}
	}
	if _, waits := queue.entries["act_00009"]; len(queue.entries) != maxApprovals || !waits || queue.entries["act_00059"].Action.ID != "" || queue.entries["act_00060"].Action.ID == "" {
		t.Errorf("%d entries", len(queue.entries))
	}
}
