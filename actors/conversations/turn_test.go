package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/assistant"
	"svc/domain"
	"svc/domain/conversation"
)

// counter is the environment of a turn without its conversation: a scripted model, one tool that writes, and the
// settings of the organization.
type counter struct {
	*talk
	*assistant.Assistant
	cancel context.CancelFunc

	mu sync.Mutex
	// model answers a round; it is called without the lock.
	model   func(ctx context.Context, round int, text func(string)) (conversation.ModelReply, error)
	rounds  int
	policy  conversation.AIPolicy
	always  []string
	spent   conversation.Usage
	target  string
	member  bool
	minted  atomic.Int64
	tokens  int
	revoked int
	writes  int
	apart   []domain.LedgerEntry
	// effect replaces the effect of the tool if it is not a write. outcome replaces its answer if that is not 201.
	// execute runs before the tool, without the lock.
	effect  conversation.Effect
	outcome *conversation.ToolOutcome
	execute func()
	roles   map[string]domain.Role
	// environment is the environment of the tool's target.
	environment string
}

// atCounter runs a test of turns in virtual time.
func atCounter(t *testing.T, test func(o *counter)) {
	t.Helper()
	talking(t, func(h *talk) {
		o := &counter{talk: h, target: `{"name":"before"}`, member: true}
		o.Assistant = &assistant.Assistant{
			Conversations: &h.Conversations, Approvals: &h.Conversations, Roles: o, Settings: o, Tools: o, Models: o, Tokens: o, Ledger: o, Apps: o,
			NewID: func(prefix string) string { return fmt.Sprintf("%s%d", prefix, o.minted.Add(1)) },
			Now:   time.Now, Logger: slog.New(slog.DiscardHandler),
		}
		ctx, cancel := context.WithCancel(context.Background())
		o.cancel = cancel
		ended := make(chan error, 1)
		go func() { ended <- o.Run(ctx) }()
		test(o)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if o.revoked != o.tokens {
			t.Errorf("%d tokens were made, %d revoked", o.tokens, o.revoked)
		}
	})
}

// theTool is the tool that writes.
func theTool() conversation.Tool {
	return conversation.Tool{Name: "goals_create", Description: "Create a goal. A person decides before it happens.", Effect: conversation.EffectWrite, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Schema: json.RawMessage(`{}`)}
}

func (o *counter) grant() domain.Grant {
	return domain.Grant{Role: domain.RoleOwner, Token: domain.Token{Scopes: domain.Scopes()}, Permissions: []domain.Permission{domain.PermAIUse, domain.PermAnalyticsWrite}}
}

func (o *counter) asker() conversation.Principal {
	app, _ := o.Assistant.Apps.Get(context.Background(), domain.AppRef{}) // it cannot fail
	return conversation.Principal{User: member(), Grant: o.grant(), App: app, Ref: domain.AppRef{Org: "acme", App: "web"}}
}

// Settings implements assistant.Settings.
func (o *counter) Settings(context.Context, string, string) (conversation.AISettings, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return conversation.AISettings{Policy: o.policy, Spent: o.spent, Always: o.always}, nil
}

// Admit implements assistant.Settings.
func (o *counter) Admit(context.Context, string, string) error { return nil }

// Spend implements assistant.Settings.
func (o *counter) Spend(_ context.Context, _ string, usage conversation.Usage) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spent = o.spent.Add(usage)
	return nil
}

// Tool implements assistant.Tools.
func (o *counter) Tool(name string) (conversation.Tool, bool) {
	return o.tool(), name == theTool().Name
}

func (o *counter) tool() conversation.Tool {
	tool := theTool()
	if o.effect != "" {
		tool.Effect = o.effect
	}
	return tool
}

// Role implements assistant.Roles.
func (o *counter) Role(_ context.Context, _, user string) (domain.Role, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	role, seated := o.roles[user]
	if !seated {
		return "", domain.NotFound("organization")
	}
	return role, nil
}

// Starters implements assistant.Tools.
func (o *counter) Starters(*conversation.Audience) []conversation.Tool {
	return []conversation.Tool{o.tool()}
}

// Find implements assistant.Tools.
func (o *counter) Find(*conversation.Audience, string, int) []conversation.Tool { return nil }

// Execute implements assistant.Tools.
func (o *counter) Execute(context.Context, domain.Secret, domain.AppRef, string, json.RawMessage) (conversation.ToolOutcome, error) {
	o.mu.Lock()
	o.writes++
	o.mu.Unlock()
	if o.execute != nil {
		o.execute()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.outcome != nil {
		return *o.outcome, nil
	}
	return conversation.ToolOutcome{Status: 201, Body: []byte(`{}`), RequestID: "req_1"}, nil
}

// Target implements assistant.Tools.
func (o *counter) Target(context.Context, domain.Secret, domain.AppRef, string, json.RawMessage) (conversation.Target, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	state, effect := json.RawMessage(o.target), o.tool().Effect
	if effect == conversation.EffectWrite && o.environment == conversation.Production {
		effect = conversation.EffectDestructive
	}
	return conversation.Target{Effect: effect, Shown: state, Before: state}, nil
}

// Model implements assistant.Models.
func (o *counter) Model(context.Context, string) (assistant.Model, error) { return o, nil }

// Round implements assistant.Model.
func (o *counter) Round(ctx context.Context, _ *conversation.ModelRequest, text func(string), reply *conversation.ModelReply) (err error) {
	o.mu.Lock()
	o.rounds++
	round := o.rounds
	o.mu.Unlock()
	*reply, err = o.model(ctx, round, text)
	reply.Usage = conversation.Usage{Input: 100, Output: 20}
	return err
}

// MintAssistant implements assistant.Tokens.
func (o *counter) MintAssistant(context.Context, domain.User, string, []domain.Scope, time.Duration) (domain.Token, domain.Secret, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tokens++
	return domain.Token{ID: "tok_1"}, "svc_agt_secret", nil
}

// EndAssistant implements assistant.Tokens.
func (o *counter) EndAssistant(context.Context, domain.Token) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.revoked++
	return nil
}

// Authorize implements assistant.Tokens.
func (o *counter) Authorize(context.Context, string, domain.RateClass, string) (domain.Grant, domain.RateState, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.member {
		return domain.Grant{}, domain.RateState{}, domain.NotFound("organization")
	}
	return o.grant(), domain.RateState{}, nil
}

// Record implements assistant.Ledger; it stores the entries that are not saved with a change.
func (o *counter) Record(_ context.Context, entry domain.LedgerEntry) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.apart = append(o.apart, entry)
	return nil
}

// recorded returns the entries that were saved with changes, then the separate ones.
func (o *counter) recorded() (lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, entry := range slices.Concat(o.store.Entries(), o.apart) {
		lines = append(lines, string(entry.Kind)+" by "+entry.Actor.Name)
	}
	return lines
}

// Get implements assistant.Apps.
func (o *counter) Get(context.Context, domain.AppRef) (domain.Application, error) {
	return domain.Application{Modules: []domain.Module{domain.ModuleAI, domain.ModuleAnalytics}}, nil
}

// ask begins a turn.
func (o *counter) ask(question string) *assistant.Turn {
	o.t.Helper()
	turn, err := o.Ask(context.Background(), o.asker(), conversation.Question{Text: question})
	if err != nil {
		o.t.Fatal(err)
	}
	return turn
}

// frames follows a turn to its end and returns its frames in short form.
func frames(turn *assistant.Turn) string {
	var line []string
	turn.Frames(context.Background(), func(frame conversation.TurnFrame) bool {
		encoded, _ := json.Marshal(frame.Data) // frames are JSON
		var data struct{ State, Text, Status, Code string }
		_ = json.Unmarshal(encoded, &data) // the fields that it has
		line = append(line, strings.TrimRight(strings.Join([]string{frame.Event, data.State, data.Text, data.Status, data.Code}, " "), " "))
		return true
	})
	return strings.Join(strings.Fields(strings.Join(line, ", ")), " ")
}

// waits is a model that writes a word and then nothing until its turn is over.
func waits(ctx context.Context, _ int, text func(string)) (conversation.ModelReply, error) {
	text("Well")
	<-ctx.Done()
	return conversation.ModelReply{Text: "Well"}, ctx.Err()
}

// proposes is a model that calls the tool in the first round and thanks in the next.
func proposes(_ context.Context, round int, text func(string)) (conversation.ModelReply, error) {
	if round == 1 {
		return conversation.ModelReply{Calls: []conversation.ToolCall{{ID: "c1", Name: "goals_create", Input: json.RawMessage(`{"name":"x"}`)}}}, nil
	}
	text("Thanks.")
	return conversation.ModelReply{Text: "Thanks."}, nil
}

const begun = "start, status running, "

// TestHowTurnsEnd goes through the rows of the table of states that end a turn.
func TestHowTurnsEnd(t *testing.T) {
	zero := int64(0)
	many := func(_ context.Context, round int, _ func(string)) (conversation.ModelReply, error) {
		return conversation.ModelReply{Calls: []conversation.ToolCall{{ID: "c", Name: "no_tool", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, round))}}}, nil
	}
	same := func(context.Context, int, func(string)) (conversation.ModelReply, error) {
		return conversation.ModelReply{Calls: []conversation.ToolCall{{ID: "c", Name: "no_tool", Input: json.RawMessage(`{}`)}}}, nil
	}
	for _, c := range []struct {
		name   string
		set    func(o *counter)
		model  func(ctx context.Context, round int, text func(string)) (conversation.ModelReply, error)
		frames string
		took   time.Duration
		view   string
	}{
		{"finished", nil, func(_ context.Context, _ int, text func(string)) (conversation.ModelReply, error) {
			text("Yes.")
			return conversation.ModelReply{Text: "Yes."}, nil
		}, "text Yes., status done, done", 0, "idle | assistant: Yes."},
		{"time", nil, waits, "text Well, text The answer ends here: the limit of 120 seconds is reached., status done, done", conversation.TurnTime, "idle | note: The answer ends here: the limit of 120 seconds is reached."},
		{"rounds", nil, many, strings.Repeat("tool_call, tool_result, ", 16) + "text The answer ends here: the limit of 16 tool rounds is reached., status done, done", 0, "idle | note: The answer ends here: the limit of 16 tool rounds is reached."},
		{"repeated", nil, same, "tool_call, tool_result, text The answer ends here: the same call was about to be repeated without end., status done, done", 0, "idle | note: The answer ends here: the same call was about to be repeated without end."},
		{"budget", func(o *counter) { o.policy.MonthlyBudget = &zero }, waits, "text The organization's monthly token budget for the assistant is used up; no model was asked., status done, done", 0, "idle | note: The organization's monthly token budget for the assistant is used up; no model was asked."},
		{"stopping", func(o *counter) { time.AfterFunc(time.Second, o.cancel) }, waits, "text Well, text The answer was cut off: the service is restarting. Nothing is half done; ask again., status done, done", time.Second, "idle | note: The answer was cut off: the service is restarting. Nothing is half done; ask again."},
		{"proposal", nil, proposes, "tool_call, approval_required, text This change is waiting for your decision, and nothing has been written: Create a goal., status awaiting, done", 0, "awaiting proposed | tool: Proposed. Nothing was written; the member decides."},
		{"a right that is lost", nil, func(context.Context, int, func(string)) (conversation.ModelReply, error) {
			return conversation.ModelReply{Calls: []conversation.ToolCall{{ID: "c", Name: "leave", Input: json.RawMessage(`{}`)}}}, nil
		}, "tool_call, tool_result, error not_found", 0, "idle | note: The member may not use the assistant of this application any more."},
		{"a panic", nil, func(context.Context, int, func(string)) (conversation.ModelReply, error) { panic("broken") }, "error internal", 0, "idle | note: Something failed here; the turn is over."},
	} {
		atCounter(t, func(o *counter) {
			o.model = func(ctx context.Context, round int, text func(string)) (conversation.ModelReply, error) {
				if c.name == "a right that is lost" {
					o.mu.Lock()
					o.member = false
					o.mu.Unlock()
				}
				return c.model(ctx, round, text)
			}
			if c.set != nil {
				c.set(o)
			}
			began := time.Now()
			turn := o.ask("What?")
			if got := frames(turn); got != begun+c.frames {
				t.Errorf("%s: %s, want %s", c.name, got, begun+c.frames)
			}
			if took := time.Since(began).Round(time.Second); took != c.took {
				t.Errorf("%s: it took %s, want %s", c.name, took, c.took)
			}
			if got := o.viewOf(turn.Conversation()); got != c.view {
				t.Errorf("%s: %s, want %s", c.name, got, c.view)
			}
			if o.writes != 0 {
				t.Errorf("%s: %d writes", c.name, o.writes)
			}
		})
	}
}

// TestATokenIsMadeForWhoNeedsIt lets turns answer at once, look for tools, and propose.
func TestATokenIsMadeForWhoNeedsIt(t *testing.T) {
	says := func(_ context.Context, _ int, text func(string)) (conversation.ModelReply, error) {
		text("Yes.")
		return conversation.ModelReply{Text: "Yes."}, nil
	}
	finds := func(ctx context.Context, round int, text func(string)) (conversation.ModelReply, error) {
		if round == 1 {
			return conversation.ModelReply{Calls: []conversation.ToolCall{{ID: "c", Name: "find_tools", Input: json.RawMessage(`{}`)}}}, nil
		}
		return says(ctx, round, text)
	}
	for _, c := range []struct {
		name   string
		model  func(ctx context.Context, round int, text func(string)) (conversation.ModelReply, error)
		tokens int
	}{{"an answer", says, 0}, {"a second round", finds, 1}, {"a proposal", proposes, 1}} {
		atCounter(t, func(o *counter) {
			o.model = c.model
			frames(o.ask("What?"))
			if o.tokens != c.tokens || o.revoked != c.tokens {
				t.Errorf("%s: %d tokens made, %d revoked, want %d", c.name, o.tokens, o.revoked, c.tokens)
			}
		})
	}
}

// viewOf returns the conversation in one line, once nothing runs any more.
func (o *counter) viewOf(id string) string {
	o.t.Helper()
	synctest.Wait()
	exchange, err := o.Conversation(context.Background(), domain.AppRef{Org: "acme", App: "web"}, member().ID, id)
	if err != nil {
		return string(domain.CodeOf(err))
	}
	line := string(exchange.Conversation.State)
	for _, action := range exchange.Actions {
		line += " " + string(action.Status)
	}
	last := exchange.Messages[len(exchange.Messages)-1]
	line += " | " + string(last.Role) + ": " + last.Text
	for _, result := range last.Results {
		line += result.Content
	}
	return line
}

// TestATurnWaitsForItsReader covers the time for which a turn continues without a reader.
func TestATurnWaitsForItsReader(t *testing.T) {
	for alone, want := range map[time.Duration]string{
		conversation.DisconnectGrace - time.Second: "start status text text status done",
		conversation.DisconnectGrace + time.Second: "start status text text status done",
	} {
		atCounter(t, func(o *counter) {
			o.model = func(ctx context.Context, _ int, text func(string)) (conversation.ModelReply, error) {
				text("One ")
				select {
				case <-time.After(40 * time.Second):
				case <-ctx.Done():
					return conversation.ModelReply{Text: "One "}, ctx.Err()
				}
				text("two.")
				return conversation.ModelReply{Text: "One two."}, nil
			}
			turn := o.ask("Count.")
			var ids []uint64
			var events []string
			var text strings.Builder
			note := func(frame conversation.TurnFrame) {
				ids, events = append(ids, frame.ID), append(events, frame.Event)
				if encoded, _ := json.Marshal(frame.Data); frame.Event == "text" { // frames are JSON
					text.Write(encoded)
				}
			}
			turn.Frames(context.Background(), func(frame conversation.TurnFrame) bool { note(frame); return frame.Event != "text" })
			time.Sleep(alone)
			last := ids[len(ids)-1]
			err := o.Follow(context.Background(), domain.AppRef{Org: "acme", App: "web"}, member().ID, turn.Conversation(), last, func(frame conversation.TurnFrame) bool { note(frame); return true })
			if got := strings.Join(events, " "); err != nil || got != want || !slices.IsSorted(ids) || len(slices.Compact(ids)) != len(events) {
				t.Errorf("alone for %s: %s %v, %v", alone, got, ids, err)
			}
			if went := strings.Contains(text.String(), "two."); went != (alone < conversation.DisconnectGrace) || strings.Contains(text.String(), "given up") == went {
				t.Errorf("alone for %s: %s", alone, text.String())
			}
		})
	}
}

// TestWhatAnApprovalChecks approves after the world has changed.
func TestWhatAnApprovalChecks(t *testing.T) {
	weak := func(o *counter, who *conversation.Principal) {
		who.Grant.Permissions = []domain.Permission{domain.PermAIUse}
	}
	for _, c := range []struct {
		name    string
		change  func(o *counter, who *conversation.Principal)
		refused string
		view    string
		writes  int
	}{
		{"nothing", func(*counter, *conversation.Principal) {}, "", "idle executed | assistant: Thanks.", 1},
		{"the target", func(o *counter, _ *conversation.Principal) { o.target = `{"name":"other"}` }, "conflict target_changed proposed0", "awaiting proposed | tool: Proposed. Nothing was written; the member decides.", 0},
		{"the tool is denied", func(o *counter, _ *conversation.Principal) { o.policy.DeniedTools = []string{"goals_create"} }, "forbidden ", "awaiting proposed | tool: Proposed. Nothing was written; the member decides.", 0},
		{"the effect is denied", func(o *counter, _ *conversation.Principal) {
			o.policy.DeniedEffects = []conversation.Effect{conversation.EffectWrite}
		}, "forbidden ", "awaiting proposed | tool: Proposed. Nothing was written; the member decides.", 0},
		{"the scope is capped", func(o *counter, _ *conversation.Principal) { o.policy.MaxScope = domain.ScopeRead }, "forbidden ", "awaiting proposed | tool: Proposed. Nothing was written; the member decides.", 0},
		{"a token without the permission", weak, "forbidden ", "awaiting proposed | tool: Proposed. Nothing was written; the member decides.", 0},
		{"somebody else", func(_ *counter, who *conversation.Principal) { who.User = stranger() }, "not_found ", "awaiting proposed | tool: Proposed. Nothing was written; the member decides.", 0},
		{"time", func(*counter, *conversation.Principal) { time.Sleep(conversation.ActionLifetime) }, "conflict already_decided expired0", "idle expired | tool: Proposed. Nothing was written; the member decides.", 0},
	} {
		atCounter(t, func(o *counter) {
			o.model = proposes
			turn := o.ask("Make a goal.")
			frames(turn)
			rows, err := o.Actions(context.Background(), domain.AppRef{Org: "acme", App: "web"}, member().ID)
			if err != nil || len(rows) != 1 {
				t.Fatalf("%s: %v, %v", c.name, rows, err)
			}
			who := o.asker()
			c.change(o, &who)
			approved, err := o.Approve(context.Background(), who, rows[0].ID, "yes")
			if got := refusalOf(err); got != c.refused {
				t.Errorf("%s: %s, want %s", c.name, got, c.refused)
			}
			if err == nil {
				frames(approved)
			}
			if got := o.viewOf(turn.Conversation()); got != c.view || o.writes != c.writes {
				t.Errorf("%s: %s, %d writes", c.name, got, o.writes)
			}
			want := []string{"ai.action.proposed by Ada", "ai.action.executed by Ada"}
			if !slices.Equal(o.recorded(), want[:1+c.writes]) {
				t.Errorf("%s: the ledger has %v", c.name, o.recorded())
			}
		})
	}
}

// TestTwoApprovalsExecuteOnce lets a member approve and reject from several windows concurrently.
func TestTwoApprovalsExecuteOnce(t *testing.T) {
	for range 20 {
		atCounter(t, func(o *counter) {
			o.model = proposes
			turn := o.ask("Make a goal.")
			frames(turn)
			rows, err := o.Actions(context.Background(), domain.AppRef{Org: "acme", App: "web"}, member().ID)
			if err != nil || len(rows) != 1 {
				t.Fatalf("%v, %v", rows, err)
			}
			var windows sync.WaitGroup
			answers := make([]error, 5)
			for n := range answers {
				windows.Go(func() {
					if n == 4 {
						_, answers[n] = o.Reject(context.Background(), o.asker(), rows[0].ID, "no")
						return
					}
					var approved *assistant.Turn
					if approved, answers[n] = o.Approve(context.Background(), o.asker(), rows[0].ID, "yes"); answers[n] == nil {
						frames(approved)
					}
				})
			}
			windows.Wait()
			rejected, done := answers[4] == nil, 0
			for _, err := range answers {
				if refused, ok := errors.AsType[*domain.Error](err); err == nil {
					done++
				} else if !ok || refused.Code != domain.CodeConflict {
					t.Errorf("refused by %v", err)
				}
			}
			if done != 1 || rejected == (o.writes == 1) || o.writes > 1 {
				t.Errorf("%d decisions, rejected %v, %d writes", done, rejected, o.writes)
			}
		})
	}
}

// TestTheTargetDecidesWhetherACallRuns has a member that always allows the tool.
func TestTheTargetDecidesWhetherACallRuns(t *testing.T) {
	for environment, c := range map[string]struct {
		frames string
		writes int
		// approve is the error of an approval over the API.
		approve string
	}{
		"":           {"tool_call, tool_result, action executed, text Thanks., status done, done", 1, ""},
		"staging":    {"tool_call, tool_result, action executed, text Thanks., status done, done", 1, ""},
		"production": {"tool_call, approval_required, text This change is waiting for your decision, and nothing has been written: Create a goal., status awaiting, done", 0, "forbidden "},
	} {
		atCounter(t, func(o *counter) {
			o.allow()
			o.environment = environment
			turn := o.ask("Do it.")
			if got := frames(turn); got != begun+c.frames || o.writes != c.writes {
				t.Errorf("%q: %s, %d writes", environment, got, o.writes)
			}
			if c.approve == "" {
				return
			}
			action, err := o.Actions(context.Background(), o.asker().Ref, member().ID)
			if err != nil || len(action) != 1 || action[0].Effect != conversation.EffectDestructive {
				t.Fatalf("%+v, %v", action, err)
			}
			if _, err := o.Approve(context.Background(), o.asker(), action[0].ID, "yes"); refusalOf(err) != c.approve {
				t.Errorf("%q: %v", environment, err)
			}
		})
	}
}

// TestATargetThatIsReachedDeeperIsAnother makes production depend on the target of a proposal.
func TestATargetThatIsReachedDeeperIsAnother(t *testing.T) {
	atCounter(t, func(o *counter) {
		o.model = proposes
		frames(o.ask("Do it."))
		actions, err := o.Actions(context.Background(), o.asker().Ref, member().ID)
		if err != nil || len(actions) != 1 || !strings.Contains(strings.Join(actions[0].Preview.Lines, "\n"), `name: "before" → "x"`) {
			t.Fatalf("%+v, %v", actions, err)
		}
		o.environment = conversation.Production
		if _, err := o.Approve(context.Background(), o.asker(), actions[0].ID, "yes"); refusalOf(err) != "conflict target_changed proposed0" || o.writes != 0 {
			t.Errorf("%v, %d writes", err, o.writes)
		}
	})
}
