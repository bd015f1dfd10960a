package svc

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Limits of the assistant (Limits of the specification).
const (
	MaxRounds            = 16
	TurnTime             = 120 * time.Second
	QuestionsPerHour     = 30
	ConversationLifetime = 90 * 24 * time.Hour
	// MaxQuestion bounds a question, in bytes.
	MaxQuestion = 16 << 10
	// MaxContext bounds contextPath and contextSearch, in bytes each.
	MaxContext = 2048
	// DisconnectGrace is how long a turn continues without anybody following it (contract 89).
	DisconnectGrace = 30 * time.Second
	// TurnLease is how long a conversation waits for a sign of life of the node that runs
	// its turn, or that has kept the place for one.
	TurnLease = 15 * time.Second
)

// RateAI is the class of the questions of a member.
const RateAI RateClass = "ai"

// ConversationState is the present activity of a conversation.
type ConversationState string

// The states.
const (
	ConversationIdle     ConversationState = "idle"
	ConversationRunning  ConversationState = "running"
	ConversationAwaiting ConversationState = "awaiting"
)

// Conversation is a person's exchange with the assistant about one application.
type Conversation struct {
	ID        string            `json:"id"`
	Org       string            `json:"org"`
	App       string            `json:"app"`
	Member    User              `json:"member"`
	Title     string            `json:"title"`
	CreatedAt time.Time         `json:"createdAt"`
	UpdatedAt time.Time         `json:"updatedAt"`
	State     ConversationState `json:"state"`
	// Turn counts the turns from 1; what belongs to an earlier one is stale.
	Turn int `json:"turn"`
	// TurnEnds is when a running turn is over at the latest, whatever became of the
	// node that ran it.
	TurnEnds       time.Time `json:"turnEnds"`
	Question       string    `json:"question"`
	ContextPath    string    `json:"contextPath"`
	Messages       int       `json:"messages"`
	PendingActions int       `json:"pendingActions"`
}

// ExpiresAt is when the conversation is purged.
func (c *Conversation) ExpiresAt() time.Time { return c.CreatedAt.Add(ConversationLifetime) }

// maxTitle bounds the title of a conversation, in runes.
const maxTitle = 80

// TitleOf makes the title of a conversation from its first question.
func TitleOf(question string) string {
	words := strings.Join(strings.Fields(question), " ")
	if runes := []rune(words); len(runes) > maxTitle {
		words = string(runes[:maxTitle-1]) + "…"
	}
	return cmp.Or(words, "Conversation")
}

// ModelRole says who wrote a message.
type ModelRole string

// The roles. A note is written by the service and not sent to models.
const (
	RoleUser      ModelRole = "user"
	RoleAssistant ModelRole = "assistant"
	RoleTool      ModelRole = "tool"
	RoleNote      ModelRole = "note"
)

// Message is one line of a conversation.
type Message struct {
	Role    ModelRole    `json:"role"`
	At      time.Time    `json:"at"`
	Turn    int          `json:"turn"`
	Text    string       `json:"text,omitempty"`
	Calls   []ToolCall   `json:"calls,omitempty"`
	Results []ToolResult `json:"results,omitempty"`
}

// Tainted reports whether a model that reads the messages has read what somebody else
// than the member wrote.
func Tainted(messages []Message) bool {
	for i := range messages {
		for _, result := range messages[i].Results {
			if !result.Trusted {
				return true
			}
		}
	}
	return false
}

// Usage is the cost of model rounds in tokens. The cache counts are parts of Input.
type Usage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadTokens,omitempty"`
	CacheWrite int64 `json:"cacheWriteTokens,omitempty"`
}

// Add returns the sum of two usages.
func (u Usage) Add(other Usage) Usage {
	return Usage{u.Input + other.Input, u.Output + other.Output, u.CacheRead + other.CacheRead, u.CacheWrite + other.CacheWrite}
}

// Tokens returns the tokens that count against a budget.
func (u Usage) Tokens() int64 { return u.Input + u.Output }

// Repetition detects a turn that repeats itself.
type Repetition struct {
	last   string
	counts map[string]int
}

// maxRepeats is how often one call may occur in a turn before it is stuck.
const maxRepeats = 3

// Stuck counts a call and says whether it is the same as the one before, or the third
// of its kind.
func (r *Repetition) Stuck(call *ToolCall) bool {
	key := call.Name + "\x00" + CanonicalJSON(call.Input)
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.counts[key]++
	repeated := key == r.last || r.counts[key] >= maxRepeats
	r.last = key
	return repeated
}

// ModelRequest is one round of a model.
type ModelRequest struct {
	System   string
	Messages []Message
	Tools    []Tool
}

// ModelReply is a model's answer in a round. Its text was handed over before, in
// fragments.
type ModelReply struct {
	Text  string
	Calls []ToolCall
	Usage Usage
	// Short says why the model broke its answer off. The calls of such an answer may be
	// incomplete, so none of them is made.
	Short ShortAnswer
}

// ShortAnswer says why an answer is incomplete; empty for a complete one.
type ShortAnswer string

// The reasons: the provider held the rest back, or the answer is as long as one may be.
const (
	ShortFiltered ShortAnswer = "filtered"
	ShortFull     ShortAnswer = "full"
)

// The codes of error frames that are no codes of answers (contract 90).
const (
	CodeProviderUnavailable Code = "provider_unavailable"
	CodeProviderError       Code = "provider_error"
)

// TurnFrame is one event of an answer's stream.
type TurnFrame struct {
	// ID grows from frame to frame of a conversation.
	ID    uint64
	Event string
	Data  any
	// More says that the next frame is there already.
	More bool
}

// turnBits is how many bits of a frame's id count within its turn.
const turnBits = 20

// FrameID returns the id of the n-th frame of a turn.
func FrameID(turn int, n uint64) uint64 { return uint64(turn)<<turnBits | n }

// FrameTurn returns the turn that a frame's id belongs to.
func FrameTurn(id uint64) int { return int(id >> turnBits) }

// Transcript is a conversation with everything that was said and proposed in it.
type Transcript struct {
	Conversation Conversation `json:"conversation"`
	Messages     []Message    `json:"messages"`
	Actions      []Action     `json:"actions"`
}

// Action returns an action of the conversation, nil where there is none of the id.
func (e *Transcript) Action(id string) *Action {
	if at := slices.IndexFunc(e.Actions, func(action Action) bool { return action.ID == id }); at >= 0 {
		return &e.Actions[at]
	}
	return nil
}

// Question is a person's question to the assistant.
type Question struct {
	Text           string
	ConversationID string
	// ContextPath and ContextSearch name the page that the question came from.
	ContextPath, ContextSearch string
}

// TurnRequest is a question with the conversation that it is asked in.
type TurnRequest struct {
	// Conversation names itself and its member; it is made where New is set.
	Conversation Conversation
	New          bool
	Text         string
	ContextPath  string
	// Reservation names the place that is kept for its turn, Turn is the number of that;
	// they are empty where none is kept.
	Reservation string
	Turn        int
}

// Principal is who speaks with the assistant: a person by a token, about an application.
type Principal struct {
	User  User
	Grant Grant
	App   Application
	Ref   AppRef
	// Confirmed is the action that the person has just confirmed with a passkey, if any.
	Confirmed string
}
