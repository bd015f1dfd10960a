package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/conversation"
)

// foundTools is the number of tools that one search loads.
const foundTools = 8

// waitingContent is the result that the model reads for a proposed call.
const waitingContent = "Proposed. Nothing was written; the member decides."

// waitingFor returns waitingContent for an effect: an external request waits for a second operator.
func waitingFor(effect conversation.Effect) string {
	if effect == conversation.EffectExternal {
		return "Requested. Nothing was sent; a second operator of the organization decides."
	}
	return waitingContent
}

// calls executes the calls of a round in their order and records all results at once, so that no call is
// stored without its result.
func (t *turn) calls(ctx context.Context, said conversation.Message) (*[]conversation.Action, error) {
	answered := conversation.Message{Role: conversation.RoleTool}
	var proposed, recorded []conversation.Action
	var ended error
	for i := range said.Calls {
		call := &said.Calls[i]
		legible := objectInput(call)
		if ended == nil {
			ended = t.admit(ctx, call)
		}
		if ended != nil {
			answered.Results = append(answered.Results, sentence(call, false, "Not executed: the turn is over."))
			continue
		}
		// The address of the page may come from a stranger's link.
		tainted := t.conversation.ContextPath != "" || conversation.Tainted(t.messages) || conversation.Tainted([]conversation.Message{answered})
		if !legible {
			t.frames.add("tool_call", callFrame{"tool_call", call.ID, call.Name, call.Input})
			answered.Results = append(answered.Results, t.refuse(call, "The input is not a JSON object."))
			continue
		}
		result, action, err := t.call(ctx, call, tainted)
		if err != nil {
			ended = err
			result = sentence(call, false, "Not executed: the turn is over.")
		}
		answered.Results = append(answered.Results, result)
		if action != nil {
			recorded = append(recorded, *action)
			if action.Status == conversation.ActionProposed {
				proposed = append(proposed, *action)
			}
		}
	}
	entries := make([]domain.LedgerEntry, 0, len(recorded))
	for i := range recorded {
		entries = append(entries, t.entryOf(&recorded[i]))
	}
	ctx, enter := t.carrying(ctx, entries...)
	if err := t.keep(ctx, recorded, said, answered); err != nil {
		return nil, err
	}
	enter()
	if ended != nil && len(proposed) > 0 {
		t.propose(proposed)
	}
	if proposed == nil {
		proposed = []conversation.Action{}
	}
	return &proposed, ended
}

// admit returns the reason for not executing a call at all, or nil.
func (t *turn) admit(ctx context.Context, call *conversation.ToolCall) error {
	if t.repeated.Stuck(call) {
		return noteStuck
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// entryOf returns the ledger entry of an action in its current state.
func (t *turn) entryOf(action *conversation.Action) domain.LedgerEntry {
	kind := domain.LedgerKind("ai.action.proposed")
	if action.Status != conversation.ActionProposed {
		kind = "ai.action.executed"
	}
	return t.entry(&t.conversation, action, t.who.User, kind, action.Question, t.token)
}

// objectInput makes the input of a call a JSON object, which any record can hold, and reports whether it was one: a
// model may send anything. No input means an empty object.
func objectInput(call *conversation.ToolCall) bool {
	var object map[string]json.RawMessage
	legible := len(call.Input) == 0 || json.Unmarshal(call.Input, &object) == nil
	if object == nil {
		call.Input = json.RawMessage("{}")
	}
	return legible
}

// sentence returns a result with a text of the service.
func sentence(call *conversation.ToolCall, ok bool, text string) conversation.ToolResult {
	return conversation.ToolResult{CallID: call.ID, Name: call.Name, OK: ok, Trusted: true, Content: text}
}

// call executes, proposes or refuses one call.
func (t *turn) call(ctx context.Context, call *conversation.ToolCall, tainted bool) (conversation.ToolResult, *conversation.Action, error) {
	t.frames.add("tool_call", callFrame{"tool_call", call.ID, call.Name, call.Input})
	if call.Name == FindTool().Name {
		return t.find(call), nil, nil
	}
	tool, known := t.Tools.Tool(call.Name)
	if !known || !t.audience.Sees(&tool) {
		return t.refuse(call, "There is no such tool for this member."), nil, nil
	}
	if tool.Effect != conversation.EffectRead {
		if err := t.ensureToken(ctx); err != nil {
			return conversation.ToolResult{}, nil, err
		}
	}
	target, err := t.target(ctx, call, &tool)
	if err != nil {
		unknown := refusal(err)
		return t.refuse(call, summaryOf(call.Name, &unknown)), nil, nil
	}
	always := slices.Contains(t.settings.Always, tool.Name)
	switch conversation.DecideCall(&t.settings.Policy, &tool, target.Effect, always, tainted) {
	case conversation.CallRefused:
		return t.refuse(call, "The organization's rules forbid this."), nil, nil
	case conversation.CallProposed:
		action := t.proposal(call, &tool, &target)
		return sentence(call, true, waitingFor(target.Effect)), &action, nil
	case conversation.CallRuns:
	}
	if target.Effect == conversation.EffectRead {
		result, _ := t.execute(ctx, call, &tool)
		return result, nil, nil
	}
	now := t.Now()
	action := t.proposal(call, &tool, &target)
	action.DecidedAt, action.DecidedBy, action.Reason = &now, &t.who.User, "always allowed"
	result, outcome := t.execute(ctx, call, &tool)
	settle(&action, outcome)
	t.reportAction(&action)
	return result, &action, nil
}

// title is a tool's description without the part for models.
func title(tool *conversation.Tool) string {
	first, _, _ := strings.Cut(tool.Description, ". ")
	return first
}

func (t *turn) refuse(call *conversation.ToolCall, why string) conversation.ToolResult {
	t.frames.add("tool_result", resultFrame{"tool_result", call.ID, call.Name, false, why, nil})
	return sentence(call, false, why)
}

// find loads the tools that match the search of the model.
func (t *turn) find(call *conversation.ToolCall) conversation.ToolResult {
	var input struct {
		Query string `json:"query"`
	}
	_ = json.Unmarshal(call.Input, &input) // without a query, it finds nothing
	found := t.Tools.Find(&t.audience, input.Query, foundTools)
	names, lines := []string{}, []string{}
	for _, tool := range found {
		names = append(names, tool.Name)
		lines = append(lines, tool.Name+": "+tool.Description)
		if !slices.ContainsFunc(t.loaded, func(loaded conversation.Tool) bool { return loaded.Name == tool.Name }) {
			t.loaded = append(t.loaded, tool)
		}
	}
	if len(names) > 0 {
		t.frames.add("tools_loaded", toolsFrame{"tools_loaded", names})
	}
	summary := fmt.Sprintf("%d tools found", len(names))
	t.frames.add("tool_result", resultFrame{"tool_result", call.ID, call.Name, true, summary, names})
	return sentence(call, true, summary+"\n"+strings.Join(lines, "\n"))
}

// execute sends the call through the routes.
func (t *turn) execute(ctx context.Context, call *conversation.ToolCall, tool *conversation.Tool) (conversation.ToolResult, conversation.ToolOutcome) {
	var outcome conversation.ToolOutcome
	err := t.ensureClaim(ctx)
	if err == nil {
		err = t.ensureToken(ctx)
	}
	if err == nil {
		outcome, err = t.Tools.Execute(ctx, t.secret, t.who.Ref, call.Name, call.Input)
	}
	if err != nil {
		outcome = refusal(err)
	}
	body, revealed := conversation.Withhold(outcome.Body)
	outcome.Body = body
	content := conversation.Envelope(call.Name, &outcome)
	t.frames.add("tool_result", resultFrame{"tool_result", call.ID, call.Name, outcome.OK(), summaryOf(call.Name, &outcome), json.RawMessage(content)})
	if len(revealed) > 0 {
		t.frames.add("reveal", revealFrame{"reveal", call.ID, revealed})
	}
	return conversation.ToolResult{CallID: call.ID, Name: call.Name, OK: outcome.OK(), Trusted: tool.Trusted, Content: content}, outcome
}

// revealFrame shows a credential once. actionId is the id of the action, or of the call if the member always allows the
// tool.
type revealFrame struct {
	Type     string            `json:"type"`
	ActionID string            `json:"actionId"`
	Values   map[string]string `json:"values"`
}

// refusal is the outcome of a call without a request.
func refusal(err error) conversation.ToolOutcome {
	code := domain.CodeOf(err)
	body, _ := json.Marshal(map[string]any{"code": code, "detail": err.Error()}) // two strings
	return conversation.ToolOutcome{Status: domain.InfoOf(code).Status, Body: body}
}

// summaryOf describes the result of a call in one line.
func summaryOf(tool string, outcome *conversation.ToolOutcome) string {
	summary := fmt.Sprintf("%s answered %d", tool, outcome.Status)
	var problem struct {
		Code domain.Code `json:"code"`
	}
	if !outcome.OK() && json.Unmarshal(outcome.Body, &problem) == nil && problem.Code != "" {
		summary += " " + string(problem.Code)
	}
	return summary
}

// action returns a call as an action without a decision.
func (t *turn) action(call *conversation.ToolCall, effect conversation.Effect, preview conversation.Preview) conversation.Action {
	now := t.Now()
	return conversation.Action{
		ID: t.NewID("act_"), ConversationID: t.conversation.ID, CallID: call.ID, Tool: call.Name, Input: call.Input, Effect: effect,
		Preview: preview, Status: conversation.ActionProposed, ProposedAt: now, ExpiresAt: now.Add(conversation.ActionLifetime), Question: t.conversation.Question,
		Scopes: t.who.Grant.Token.Scopes,
	}
}

// target reads the target that a call would change. The stored state decides the effect of the call, never the model's
// claim. A read changes nothing.
func (t *turn) target(ctx context.Context, call *conversation.ToolCall, tool *conversation.Tool) (conversation.Target, error) {
	if tool.Effect == conversation.EffectRead {
		return conversation.Target{Effect: conversation.EffectRead}, nil
	}
	return t.Tools.Target(ctx, t.secret, t.who.Ref, call.Name, call.Input)
}

// proposal returns a call as an action, with a preview made of the previous state.
func (t *turn) proposal(call *conversation.ToolCall, tool *conversation.Tool, target *conversation.Target) conversation.Action {
	action := t.action(call, target.Effect, conversation.NewPreview(strings.TrimSuffix(title(tool), "."), target.Shown, call.Input))
	action.Before = target.Before
	return action
}

// settle records the result of an execution in an action.
func settle(action *conversation.Action, outcome conversation.ToolOutcome) {
	done := outcome.OK()
	action.Result = &conversation.ActionResult{OK: done, Summary: summaryOf(action.Tool, &outcome)}
	if action.Effect == conversation.EffectExternal {
		action.Sending = conversation.SendingOf(&outcome)
		done = action.Sending == conversation.SendingSent
		action.Result.OK = done
	}
	if action.Sending == conversation.SendingUncertain {
		action.Result.Summary += "; whether it was delivered is not known, and it is not sent again"
	}
	action.Status, action.RequestID = conversation.ActionExecuted, outcome.RequestID
	if !done {
		action.Status = conversation.ActionFailed
	}
}

func (t *turn) reportAction(action *conversation.Action) {
	t.frames.add("action", actionFrame{"action", action.ID, action.Status, action.Result.Summary, action.RequestID})
}

// resume executes the approved action and reports whether the model continues: not while other actions wait.
func (t *turn) resume(ctx context.Context) (more bool, err error) {
	action := t.approved
	// The end of the call is recorded even if the turn's time ends meanwhile.
	outcome, err := t.Tools.Execute(context.WithoutCancel(ctx), t.secret, t.who.Ref, action.Tool, action.Input)
	if err != nil {
		outcome = refusal(err)
	}
	body, revealed := conversation.Withhold(outcome.Body)
	outcome.Body = body
	settle(action, outcome)
	content := conversation.Envelope(action.Tool, &outcome)
	carrying, enter := t.carrying(context.WithoutCancel(ctx), t.entry(&t.conversation, action, t.who.User, "ai.action.executed", action.Question, t.token))
	settled, err := t.Conversations.Settle(carrying, &t.conversation, action, content)
	enter() // it was executed, even if recording it failed
	t.reportAction(action)
	t.frames.add("tool_result", resultFrame{"tool_result", action.CallID, action.Tool, outcome.OK(), action.Result.Summary, json.RawMessage(content)})
	if len(revealed) > 0 {
		t.frames.add("reveal", revealFrame{"reveal", action.ID, revealed})
	}
	if err != nil {
		return false, err
	}
	t.messages, t.actions = settled.Messages, settled.Actions
	for i := range t.actions {
		if t.actions[i].Pending(t.Now()) {
			return false, nil
		}
	}
	if t.model == nil {
		return false, noteAlone
	}
	return true, nil
}
