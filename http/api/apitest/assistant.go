package apitest

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/api/assistant"
)

// held is the assistant of the memory. It stores the settings of organizations and no conversations, because it has no
// model.
type held struct {
	memory *Memory

	settings map[string]*conversation.AISettings
	always   map[string][]string
}

func (m *Memory) assistant() held {
	return held{memory: m, settings: map[string]*conversation.AISettings{}, always: map[string][]string{}}
}

func (h held) of(org string) *conversation.AISettings {
	if h.settings[org] == nil {
		h.settings[org] = &conversation.AISettings{}
	}
	return h.settings[org]
}

// Settings implements assistant.AISettings.
func (h held) Settings(_ context.Context, org, user string) (conversation.AISettings, error) {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	settings := *h.of(org)
	settings.Always = slices.Clone(h.always[org+"/"+user])
	return settings, nil
}

// PutPolicy implements assistant.AISettings.
func (h held) PutPolicy(_ context.Context, org string, policy conversation.AIPolicy) error {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	h.of(org).Policy = policy
	return nil
}

// PutCredential implements assistant.AISettings.
func (h held) PutCredential(_ context.Context, org string, credential conversation.AICredential, key domain.Secret) error {
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
func (held) Tool(name string) (conversation.Tool, bool) {
	effect, known := map[string]conversation.Effect{"goals_create": conversation.EffectWrite, "goals_delete": conversation.EffectDestructive, "goals_list": conversation.EffectRead}[name]
	return conversation.Tool{Name: name, Effect: effect}, known
}

// Names implements assistant.AITools.
func (held) Names() []string { return []string{"goals_create", "goals_delete", "goals_list"} }

// Ask implements assistant.Assistant.
func (held) Ask(_ context.Context, _ conversation.Principal, question conversation.Question) (assistant.Turn, error) {
	if question.ConversationID != "" {
		return nil, domain.NotFound("conversation")
	}
	return nil, domain.Errorf(conversation.CodeProviderUnavailable, "No model provider is configured for the organization.")
}

// Approve implements assistant.Assistant.
func (held) Approve(context.Context, conversation.Principal, string, string) (assistant.Turn, error) {
	return nil, domain.NotFound("action")
}

// Reject implements assistant.Assistant.
func (held) Reject(context.Context, conversation.Principal, string, string) (conversation.Action, error) {
	return conversation.Action{}, domain.NotFound("action")
}

// Revoke implements assistant.Assistant.
func (held) Revoke(context.Context, conversation.Principal, string, string, string) (conversation.Action, error) {
	return conversation.Action{}, domain.NotFound("action")
}

// Conversation implements assistant.Assistant.
func (held) Conversation(context.Context, domain.AppRef, string, string) (conversation.Transcript, error) {
	return conversation.Transcript{}, domain.NotFound("conversation")
}

// List implements assistant.Assistant.
func (held) List(context.Context, domain.AppRef, string) ([]conversation.Conversation, error) {
	return nil, nil
}

// Actions implements assistant.Assistant.
func (held) Actions(context.Context, domain.AppRef, string) ([]conversation.Action, error) {
	return nil, nil
}

// Follow implements assistant.Assistant.
func (held) Follow(context.Context, domain.AppRef, string, string, uint64, func(conversation.TurnFrame) bool) error {
	return domain.NotFound("conversation")
}

// Requests implements assistant.Approvals.
func (held) Requests(context.Context, conversation.Principal) ([]conversation.Approval, error) {
	return nil, nil
}

// ApproveRequest implements assistant.Approvals.
func (held) ApproveRequest(context.Context, conversation.Principal, string, string) (conversation.Approval, error) {
	return conversation.Approval{}, domain.NotFound("approval")
}

// RejectRequest implements assistant.Approvals.
func (held) RejectRequest(context.Context, conversation.Principal, string, string) (conversation.Approval, error) {
	return conversation.Approval{}, domain.NotFound("approval")
}
