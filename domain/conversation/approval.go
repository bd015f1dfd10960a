package conversation

import (
	"encoding/json"
	"slices"

	"svc/domain"
)

// Sending is the progress of an external request. It is empty until a second operator approves the request.
type Sending string

// The states of a sending. It is claimed once, before anything leaves. It ends in one of the other three states, and
// none of them is retried.
const (
	// SendingClaimed says that the request is being sent.
	SendingClaimed Sending = "claimed"
	// SendingSent says that the tool's route reported a delivery.
	SendingSent Sending = "sent"
	// SendingRefused says that certainly nothing was delivered.
	SendingRefused Sending = "refused"
	// SendingUncertain says that the request was claimed and may or may not have left.
	SendingUncertain Sending = "uncertain"
)

// Approval is an entry of an organization's approval queue: an external request that the assistant made for one member,
// and that another member decides on.
type Approval struct {
	Org    string      `json:"org"`
	App    string      `json:"app"`
	Member domain.User `json:"member"`
	Action Action      `json:"action"`
}

// Take copies the request from its conversation.
func (a *Approval) Take(from *Transcript) {
	if action := from.Action(a.Action.ID); action != nil {
		a.Action = *action
	}
}

// SecondOperatorRequired is the error for a member that decides on their own request.
func SecondOperatorRequired() error {
	return &domain.Error{Code: domain.CodeForbidden, Reason: "second_operator_required", Message: "A request to the outside is decided by a second operator in the console."}
}

// CheckSecond returns nil if a person may decide on the request as its second operator: not the requester, and with a
// grant to make the call by hand.
func (a *Approval) CheckSecond(by domain.User, grant *domain.Grant, tool *Tool) error {
	switch {
	case by.ID == a.Member.ID:
		return SecondOperatorRequired()
	case !grant.HasScope(tool.Scope) || !grant.May(tool.Permission):
		return &domain.Error{
			Code: domain.CodeForbidden, Required: &domain.Required{Scope: tool.Scope, Permission: tool.Permission},
			Message: "Whoever decides on the request must be able to perform it.",
		}
	}
	return nil
}

// SendContext is the state of both members, the application and the organization's rules right before a request is
// sent.
type SendContext struct {
	Requester domain.Grant
	// Operator is the grant of the second operator; the rules for assistants do not apply to it.
	Operator domain.Grant
	Modules  []domain.Module
	Policy   AIPolicy
}

// CheckSend returns nil if a request may still be sent: both members may still make it, and neither the organization's
// rules nor the application's modules forbid it.
func (a *Approval) CheckSend(by domain.User, tool *Tool, now *SendContext) error {
	if err := a.CheckSecond(by, &now.Operator, tool); err != nil {
		return err
	}
	audience := NewAudience(now.Requester, now.Modules, now.Policy)
	allowed := now.Requester.May(domain.PermAIUse) && slices.Contains(now.Modules, domain.ModuleAI)
	if !allowed || !audience.SeesAt(tool, a.Action.Effect) {
		return &domain.Error{
			Code: domain.CodeForbidden, Reason: "requester_not_allowed",
			Message: "The member who asked, the application's modules or the organization's rules do not allow the request any more.",
		}
	}
	return nil
}

// SendingOf interprets the answer to a request. A route that failed or timed out may have sent it. A route that reports
// a failed attempt, by a member ok that is false, does not know how the receiver treated it.
func SendingOf(outcome *ToolOutcome) Sending {
	switch {
	case outcome.Status >= 500 || outcome.Status < 200:
		return SendingUncertain
	case !outcome.OK():
		return SendingRefused
	}
	var told struct {
		OK *bool `json:"ok"`
	}
	if json.Unmarshal(outcome.Body, &told) == nil && told.OK != nil && !*told.OK {
		return SendingUncertain
	}
	return SendingSent
}
