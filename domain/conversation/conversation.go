package conversation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// Limits of the assistant (Limits of the specification).
const (
	MaxRounds        = 16
	TurnTime         = 120 * time.Second
	QuestionsPerHour = 30
	Lifetime         = 90 * 24 * time.Hour
	// MaxQuestion limits a question, in bytes.
	MaxQuestion = 16 << 10
	// MaxContext limits contextPath and contextSearch, in bytes each.
	MaxContext = 2048
	// DisconnectGrace is how long a turn continues while no client follows it (contract 89).
	DisconnectGrace = 30 * time.Second
	// TurnLease is how long a conversation waits for a sign of life of the node that runs its turn, or that has
	// reserved one.
	TurnLease = 15 * time.Second
)

// RateAI is the rate class of a member's questions.
const RateAI domain.RateClass = "ai"

// State is the present activity of a conversation.
type State string

// The states.
const (
	Idle     State = "idle"
	Running  State = "running"
	Awaiting State = "awaiting"
)

// Conversation is a person's exchange with the assistant about one application.
type Conversation struct {
	ID        string      `json:"id"`
	Org       string      `json:"org"`
	App       string      `json:"app"`
	Member    domain.User `json:"member"`
	Title     string      `json:"title"`
	CreatedAt time.Time   `json:"createdAt"`
	UpdatedAt time.Time   `json:"updatedAt"`
	State     State       `json:"state"`
	// Turn counts the turns from 1; anything of an earlier turn is stale.
	Turn int `json:"turn"`
	// TurnEnds is the latest end of a running turn, even if the node that ran it is gone.
	TurnEnds       time.Time `json:"turnEnds"`
	Question       string    `json:"question"`
	ContextPath    string    `json:"contextPath"`
	Messages       int       `json:"messages"`
	PendingActions int       `json:"pendingActions"`
}

// ExpiresAt is when the conversation is purged.
func (c *Conversation) ExpiresAt() time.Time { return c.CreatedAt.Add(Lifetime) }

// maxTitle limits the title of a conversation, in runes.
const maxTitle = 80

// TitleOf derives the title of a conversation from its first question.
func TitleOf(question string) string {
	words := strings.Join(strings.Fields(question), " ")
	if runes := []rune(words); len(runes) > maxTitle {
		words = string(runes[:maxTitle-1]) + "…"
	}
	return cmp.Or(words, "Conversation")
}

// ModelRole is the author of a message.
type ModelRole string

// The roles. The service writes notes; they are not sent to models.
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

// Tainted reports whether the messages contain text that another author than the member wrote, so that a model has read
// it.
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

// Usage is the cost of model rounds in tokens. The cache counts are included in Input.
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

// Tokens returns the number of tokens that count against a budget.
func (u Usage) Tokens() int64 { return u.Input + u.Output }

// Repetition detects a turn that repeats itself.
type Repetition struct {
	last   string
	counts map[string]int
}

// maxRepeats is the number of equal calls in a turn at which it is stuck.
const maxRepeats = 3

// Stuck counts a call. It reports whether the call equals the previous one or is the third equal call of the turn.
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

// ModelReply is a model's answer in a round. Its text was already delivered in fragments.
type ModelReply struct {
	Text  string
	Calls []ToolCall
	Usage Usage
	// Short is the reason why the model broke off its answer. The calls of such an answer may be incomplete, so none of
	// them is made.
	Short ShortAnswer
}

// ShortAnswer is the reason why an answer is incomplete; empty for a complete one.
type ShortAnswer string

// The reasons: the provider withheld the rest, or the answer has the greatest allowed length.
const (
	ShortFiltered ShortAnswer = "filtered"
	ShortFull     ShortAnswer = "full"
)

// The codes of error frames that are not codes of HTTP answers (contract 90).
const (
	CodeProviderUnavailable domain.Code = "provider_unavailable"
	CodeProviderError       domain.Code = "provider_error"
)

// TurnFrame is one event of an answer's stream.
type TurnFrame struct {
	// ID increases from frame to frame of a conversation.
	ID    uint64
	Event string
	Data  any
	// More says that the next frame is already available.
	More bool
}

// turnBits is the number of bits of a frame's id that count within its turn.
const turnBits = 20

// FrameID returns the id of the n-th frame of a turn.
func FrameID(turn int, n uint64) uint64 { return uint64(turn)<<turnBits | n }

// FrameTurn returns the turn that a frame's id belongs to.
func FrameTurn(id uint64) int { return int(id >> turnBits) }

// Transcript is a conversation with all its messages and actions.
type Transcript struct {
	Conversation Conversation `json:"conversation"`
	Messages     []Message    `json:"messages"`
	Actions      []Action     `json:"actions"`
}

// Action returns an action of the conversation by its id, or nil.
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
	// ContextPath and ContextSearch identify the page on which the question was asked.
	ContextPath, ContextSearch string
}

// TurnRequest is a question with its conversation.
type TurnRequest struct {
	// Conversation has its id and its member; it is created if New is set.
	Conversation Conversation
	New          bool
	Text         string
	ContextPath  string
	// Reservation identifies the reserved place of the turn, Turn is the number of the turn. Both are empty without a
	// reservation.
	Reservation string
	Turn        int
}

// Principal is the person that speaks with the assistant, with a token and about an application.
type Principal struct {
	User  domain.User
	Grant domain.Grant
	App   domain.Application
	Ref   domain.AppRef
	// Confirmed is the action that the person has just confirmed with a passkey, if any.
	Confirmed string
}
