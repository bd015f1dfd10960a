package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// Effect is how deep a call reaches. The tiers of the assistant follow from it.
type Effect string

// The effects, from the shallowest to the deepest.
const (
	EffectRead        Effect = "read"
	EffectWrite       Effect = "write"
	EffectDestructive Effect = "destructive"
	EffectExternal    Effect = "external"
)

// Effects lists all effects.
func Effects() []Effect {
	return []Effect{EffectRead, EffectWrite, EffectDestructive, EffectExternal}
}

// Values lists the effects.
func (Effect) Values() []Effect { return Effects() }

// ActionLifetime is how long a proposed action waits for a decision (Limits).
const ActionLifetime = 15 * time.Minute

// ActionStatus is the status of a proposed action (contract 85).
type ActionStatus string

// The statuses. Only proposed and executing actions can still change.
const (
	ActionProposed  ActionStatus = "proposed"
	ActionExecuting ActionStatus = "executing"
	ActionExecuted  ActionStatus = "executed"
	ActionFailed    ActionStatus = "failed"
	ActionRejected  ActionStatus = "rejected"
	ActionExpired   ActionStatus = "expired"
	ActionRevoked   ActionStatus = "revoked"
)

// ActionStatuses lists all statuses.
func ActionStatuses() []ActionStatus {
	return []ActionStatus{ActionProposed, ActionExecuting, ActionExecuted, ActionFailed, ActionRejected, ActionExpired, ActionRevoked}
}

// Values lists the statuses.
func (ActionStatus) Values() []ActionStatus { return ActionStatuses() }

// Preview shows the action to the member before the decision. It is built from the input and the previous state, never
// from text of the model.
type Preview struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

// ActionResult is the outcome of the execution of an action.
type ActionResult struct {
	OK      bool   `json:"ok"`
	Summary string `json:"summary"`
}

// Action is a change that the assistant proposes and a person decides on.
type Action struct {
	ID             string          `json:"id"`
	ConversationID string          `json:"conversationId"`
	CallID         string          `json:"callId"`
	Tool           string          `json:"tool"`
	Input          json.RawMessage `json:"input"`
	Effect         Effect          `json:"effect"`
	Preview        Preview         `json:"preview"`
	Status         ActionStatus    `json:"status"`
	ProposedAt     time.Time       `json:"proposedAt"`
	ExpiresAt      time.Time       `json:"expiresAt"`
	DecidedAt      *time.Time      `json:"decidedAt"`
	DecidedBy      *domain.User    `json:"decidedBy"`
	Reason         string          `json:"reason"`
	RequestID      string          `json:"requestId"`
	Result         *ActionResult   `json:"result"`
	// Question is the member's question when the action was proposed.
	Question string `json:"question"`
	// Before is the state of the target when the action was proposed. It is nil if the action creates something new.
	Before json.RawMessage `json:"before,omitempty"`
	// Scopes are the scopes of the token that proposed the action. An external request is sent with no more.
	Scopes []domain.Scope `json:"scopes,omitempty"`
	// Sending is the progress of an external request.
	Sending Sending `json:"sending,omitempty"`
}

// Lost returns the action as failed because its execution was interrupted. It is unknown whether the action took
// effect, so it is not retried.
func (a Action) Lost() Action {
	a.Status = ActionFailed
	a.Result = &ActionResult{Summary: "The execution was cut off; whether it took effect is not known."}
	if a.Effect == EffectExternal {
		a.Sending = SendingUncertain
		a.Result.Summary = "The sending was cut off; whether it was delivered is not known. It is not sent again."
	}
	return a
}

// At returns the action as it is at an instant: a proposal past its lifetime has expired, even if that is not recorded
// yet.
func (a Action) At(now time.Time) Action {
	if a.Status == ActionProposed && !now.Before(a.ExpiresAt) {
		a.Status = ActionExpired
		ended := a.ExpiresAt
		a.DecidedAt = &ended
	}
	return a
}

// Pending reports whether the action still waits for a decision at an instant.
func (a *Action) Pending(now time.Time) bool { return a.At(now).Status == ActionProposed }

// decided returns the error for a decision on an action that is already decided.
func (a *Action) decided() error {
	return &domain.Error{
		Code: domain.CodeConflict, Reason: "already_decided", Message: fmt.Sprintf("The action is %s already.", a.Status),
		Turn: &domain.TurnProblem{ConversationID: a.ConversationID, ActionStatus: string(a.Status)},
	}
}

// CheckDecide returns nil if the action can still be decided, and otherwise a conflict that names its status.
func (a Action) CheckDecide(now time.Time) error {
	if now := a.At(now); now.Status != ActionProposed {
		return now.decided()
	}
	return nil
}

// CheckReach returns nil if the action can still be decided and the grant covers the tool itself.
func (a Action) CheckReach(now time.Time, grant *domain.Grant, tool *Tool) error {
	if err := a.CheckDecide(now); err != nil {
		return err
	}
	if !grant.HasScope(tool.Scope) || !grant.May(tool.Permission) {
		return &domain.Error{
			Code: domain.CodeForbidden, Required: &domain.Required{Scope: tool.Scope, Permission: tool.Permission},
			Message: "The token could not perform the action itself, so it cannot approve it.",
		}
	}
	return nil
}

// CheckApprove returns nil if a member may approve the action with a grant. The grant must cover the tool itself.
// Destructive and external actions cannot be approved over the API. The caller has already checked that the member owns
// the conversation.
func (a Action) CheckApprove(now time.Time, grant *domain.Grant, tool *Tool) error {
	if err := a.CheckReach(now, grant, tool); err != nil {
		return err
	}
	switch a.Effect {
	case EffectDestructive:
		return domain.Errorf(domain.CodeForbidden, "A destructive action is approved in the console, with a reason and a fresh passkey.")
	case EffectExternal:
		return SecondOperatorRequired()
	case EffectRead, EffectWrite:
	}
	return nil
}

// TargetChanged returns the refusal of an action because its target has changed since the proposal.
func (a *Action) TargetChanged() error {
	return &domain.Error{
		Code: domain.CodeConflict, Reason: "target_changed", Message: "The target has changed since the action was proposed; ask again.",
		Turn: &domain.TurnProblem{ConversationID: a.ConversationID, ActionStatus: string(a.Status)},
	}
}

// previewValue is the length, in bytes, above which a preview shortens a value.
const previewValue = 120

// NewPreview shows the effect of a call: each value of the input next to the present one. If the input has no values,
// it shows the present state.
func NewPreview(title string, before, input json.RawMessage) Preview {
	present, wanted := objectOf(before), objectOf(input)
	preview := Preview{Title: title, Lines: []string{}}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		next := shown(wanted[name])
		old, known := present[name]
		switch {
		case known && shown(old) != next:
			preview.Lines = append(preview.Lines, name+": "+shown(old)+" → "+next)
		case known:
			preview.Lines = append(preview.Lines, name+": "+next+" (unchanged)")
		default:
			preview.Lines = append(preview.Lines, name+": "+next)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(present)) {
		if _, named := wanted[name]; !named && isScalar(present[name]) {
			preview.Lines = append(preview.Lines, "now "+name+": "+shown(present[name]))
		}
	}
	return preview
}

func objectOf(raw json.RawMessage) (object map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &object) // anything but an object has no members
	return object
}

func isScalar(raw json.RawMessage) bool {
	return len(raw) > 0 && raw[0] != '{' && raw[0] != '[' && string(raw) != "null"
}

// shown writes a value on one line, including its quotes, so that no value can pass for another part of the preview.
func shown(raw json.RawMessage) string {
	text := CanonicalJSON(raw)
	if runes := []rune(text); len(runes) > previewValue {
		text = string(runes[:previewValue]) + "…"
	}
	return text
}

// CanonicalJSON writes a JSON value so that equal values have equal texts. Invalid JSON is returned unchanged.
func CanonicalJSON(raw json.RawMessage) string {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return string(raw)
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// SameState reports whether a target is unchanged.
func SameState(before, now json.RawMessage) bool {
	return cmp.Compare(CanonicalJSON(before), CanonicalJSON(now)) == 0
}
