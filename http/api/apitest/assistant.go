package apitest

import (
	"context"
	"slices"

	"svc"
	"svc/http/api/assistant"
)

// held is the assistant of the memory. It stores the settings of organizations and no conversations, because it has no
// model.
type held struct {
	memory *Memory

	settings map[string]*svc.AISettings
	always   map[string][]string
}

func (m *Memory) assistant() held {
	return held{memory: m, settings: map[string]*svc.AISettings{}, always: map[string][]string{}}
}

func (h held) of(org string) *svc.AISettings {
	if h.settings[org] == nil {
		h.settings[org] = &svc.AISettings{}
	}
	return h.settings[org]
}

// Settings implements assistant.AISettings.
func (h held) Settings(_ context.Context, org, user string) (svc.AISettings, error) {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	settings := *h.of(org)
	settings.Always = slices.Clone(h.always[org+"/"+user])
	return settings, nil
}

// PutPolicy implements assistant.AISettings.
func (h held) PutPolicy(_ context.Context, org string, policy svc.AIPolicy) error {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	h.of(org).Policy = policy
	return nil
}

// PutCredential implements assistant.AISettings.
func (h held) PutCredential(_ context.Context, org string, credential svc.AICredential, key svc.Secret) error {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	if h.of(org).Credential = &credential; key == "" {
		h.of(org).Credential = nil
	}
	return nil
}

// Mark implements assistant.AISettings.
func (h held) Mark(_ context.Context, org, user, tool string, always bool) error {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	id := org + "/" + user
	h.always[id] = slices.DeleteFunc(slices.Clone(h.always[id]), func(marked string) bool { return marked == tool })
	if always {
		h.always[id] = append(h.always[id], tool)
	}
	return nil
}

// Tool implements assistant.AITools; the memory has one tool for each effect.
func (held) Tool(name string) (svc.Tool, bool) {
	effect, known := map[string]svc.Effect{"goals_create": svc.EffectWrite, "goals_delete": svc.EffectDestructive, "goals_list": svc.EffectRead}[name]
	return svc.Tool{Name: name, Effect: effect}, known
}

// Names implements assistant.AITools.
func (held) Names() []string { return []string{"goals_create", "goals_delete", "goals_list"} }

// Ask implements assistant.Assistant.
func (held) Ask(_ context.Context, _ svc.Principal, question svc.Question) (assistant.Turn, error) {
	if question.ConversationID != "" {
		return nil, svc.NotFound("conversation")
	}
	return nil, svc.Errorf(svc.CodeProviderUnavailable, "No model provider is configured for the organization.")
}

// Approve implements assistant.Assistant.
func (held) Approve(context.Context, svc.Principal, string, string) (assistant.Turn, error) {
	return nil, svc.NotFound("action")
}

// Reject implements assistant.Assistant.
func (held) Reject(context.Context, svc.Principal, string, string) (svc.Action, error) {
	return svc.Action{}, svc.NotFound("action")
}

// Revoke implements assistant.Assistant.
func (held) Revoke(context.Context, svc.Principal, string, string, string) (svc.Action, error) {
	return svc.Action{}, svc.NotFound("action")
}

// Conversation implements assistant.Assistant.
func (held) Conversation(context.Context, svc.AppRef, string, string) (svc.Transcript, error) {
	return svc.Transcript{}, svc.NotFound("conversation")
}

// List implements assistant.Assistant.
func (held) List(context.Context, svc.AppRef, string) ([]svc.Conversation, error) { return nil, nil }

// Actions implements assistant.Assistant.
func (held) Actions(context.Context, svc.AppRef, string) ([]svc.Action, error) { return nil, nil }

// Follow implements assistant.Assistant.
func (held) Follow(context.Context, svc.AppRef, string, string, uint64, func(svc.TurnFrame) bool) error {
	return svc.NotFound("conversation")
}

// Requests implements assistant.Approvals.
func (held) Requests(context.Context, svc.Principal) ([]svc.Approval, error) { return nil, nil }

// ApproveRequest implements assistant.Approvals.
func (held) ApproveRequest(context.Context, svc.Principal, string, string) (svc.Approval, error) {
	return svc.Approval{}, svc.NotFound("approval")
}

// RejectRequest implements assistant.Approvals.
func (held) RejectRequest(context.Context, svc.Principal, string, string) (svc.Approval, error) {
	return svc.Approval{}, svc.NotFound("approval")
}
