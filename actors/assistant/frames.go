package assistant

import (
	"encoding/json"

	"svc/domain"
	"svc/domain/conversation"
)

// The data of the frames (Events of the specification); type equals the event's name.
type (
	startFrame struct {
		Type           string `json:"type"`
		ConversationID string `json:"conversationId"`
		Title          string `json:"title"`
	}
	statusFrame struct {
		Type  string `json:"type"`
		State string `json:"state"`
	}
	textFrame struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	toolsFrame struct {
		Type  string   `json:"type"`
		Names []string `json:"names"`
	}
	callFrame struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	resultFrame struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Name    string `json:"name"`
		OK      bool   `json:"ok"`
		Summary string `json:"summary"`
		Result  any    `json:"result"`
	}
	proposedAction struct {
		ID        string               `json:"id"`
		Tool      string               `json:"tool"`
		Input     json.RawMessage      `json:"input"`
		Effect    conversation.Effect  `json:"effect"`
		Preview   conversation.Preview `json:"preview"`
		ExpiresAt string               `json:"expiresAt"`
	}
	approvalFrame struct {
		Type    string           `json:"type"`
		Actions []proposedAction `json:"actions"`
	}
	actionFrame struct {
		Type      string                    `json:"type"`
		ID        string                    `json:"id"`
		Status    conversation.ActionStatus `json:"status"`
		Summary   string                    `json:"summary"`
		RequestID string                    `json:"requestId"`
	}
	doneFrame struct {
		Type           string             `json:"type"`
		ConversationID string             `json:"conversationId"`
		Usage          conversation.Usage `json:"usage"`
		Rounds         int                `json:"rounds"`
	}
	errorFrame struct {
		Type    string      `json:"type"`
		Message string      `json:"message"`
		Code    domain.Code `json:"code"`
	}
)

// The states of a status frame.
const (
	stateRunning  = "running"
	stateAwaiting = "awaiting"
	stateDone     = "done"
)

// stateAfter returns the state of a turn that has ended and left a conversation in a state.
func stateAfter(state conversation.State) string {
	if state == conversation.Awaiting {
		return stateAwaiting
	}
	return stateDone
}
