package conversations

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// The ai actor.
//
//	identity   the organization's slug
//	rank       2
//	owns       the organization's rules for the assistant, its provider credential
//	           (sealed), the tokens spent this month, the tools that members always allow
//	persists   entities policy, credential, spent, always
//	woken by   calls only
//	limits     30 questions per hour and member, counted in memory
//	stops      after two hours without a message, so that it remembers an hour
const kindAI = "ai"

const aiIdle = 2 * time.Hour

type aiSettings struct {
	policy     conversation.AIPolicy
	credential *aiCredential
	spent      aiSpent
	always     map[string]grain.None
	asked      map[string][]time.Time
}

type (
	// aiCredential is a provider's credential; the key is sealed.
	aiCredential struct {
		conversation.AICredential
		Sealed []byte `json:"sealed"`
	}
	aiSpent struct {
		Month string             `json:"month"`
		Usage conversation.Usage `json:"usage"`
	}
	aiMark struct {
		User   string `json:"user"`
		Tool   string `json:"tool"`
		Always bool   `json:"always"`
	}
	aiUser struct {
		User string `json:"user"`
	}
	aiAdmission struct {
		Wait time.Duration `json:"wait"`
	}
	aiState struct {
		Policy     conversation.AIPolicy `json:"policy"`
		Spent      conversation.Usage    `json:"spent"`
		Always     []string              `json:"always"`
		Credential *aiCredential         `json:"credential"`
	}
)

var aiSettingsKind = grain.NewKind[*aiSettings](kindAI, 2, aiIdle)

// The methods of the ai actor.
var (
	aiSettingsGet        = grain.On(aiSettingsKind, "get", (*aiSettings).onGet, grain.Repeatable)
	aiSettingsAdmit      = grain.On(aiSettingsKind, "admit", (*aiSettings).onAdmit)
	aiSettingsSpend      = grain.On(aiSettingsKind, "spend", (*aiSettings).onSpend)
	aiSettingsPolicy     = grain.On(aiSettingsKind, "policy", (*aiSettings).onPolicy)
	aiSettingsCredential = grain.On(aiSettingsKind, "credential", (*aiSettings).onCredential)
	aiSettingsMark       = grain.On(aiSettingsKind, "mark", (*aiSettings).onMark)
)

func (a *aiSettings) Restore(entities []domain.Entity) error {
	asked := a.asked
	*a = aiSettings{always: map[string]grain.None{}, asked: asked}
	if a.asked == nil {
		a.asked = map[string][]time.Time{}
	}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "policy":
			a.policy, err = grain.Decode[conversation.AIPolicy](entity)
		case "credential":
			var credential aiCredential
			credential, err = grain.Decode[aiCredential](entity)
			a.credential = &credential
		case "spent":
			a.spent, err = grain.Decode[aiSpent](entity)
		case "always":
			a.always[entity.ID] = grain.None{}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func markID(user, tool string) string { return user + "/" + tool }

func (a *aiSettings) onGet(now time.Time, m aiUser) (grain.Outcome[aiState], error) {
	state := aiState{Policy: a.policy, Credential: a.credential, Always: []string{}}
	if a.spent.Month == domain.MonthOf(now) {
		state.Spent = a.spent.Usage
	}
	for id := range a.always {
		if tool, ours := strings.CutPrefix(id, m.User+"/"); ours {
			state.Always = append(state.Always, tool)
		}
	}
	slices.Sort(state.Always)
	return grain.Answer(state), nil
}

// onAdmit counts a question of a member, or returns the time to wait before the next one.
func (a *aiSettings) onAdmit(now time.Time, m aiUser) (grain.Outcome[aiAdmission], error) {
	recent := slices.DeleteFunc(a.asked[m.User], func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	if len(recent) >= conversation.QuestionsPerHour {
		a.asked[m.User] = recent
		return grain.Answer(aiAdmission{Wait: recent[0].Add(time.Hour).Sub(now)}), nil
	}
	a.asked[m.User] = append(recent, now)
	return grain.Answer(aiAdmission{}), nil
}

// onSpend counts the tokens of a completed round.
func (a *aiSettings) onSpend(now time.Time, usage conversation.Usage) (grain.Outcome[grain.None], error) {
	if month := domain.MonthOf(now); a.spent.Month != month {
		a.spent = aiSpent{Month: month}
	}
	a.spent.Usage = a.spent.Usage.Add(usage)
	return grain.Answer(grain.None{}, grain.Put("spent", "spent", a.spent)), nil
}

func (a *aiSettings) onPolicy(_ time.Time, policy conversation.AIPolicy) (grain.Outcome[grain.None], error) {
	a.policy = policy
	return grain.Answer(grain.None{}, grain.Put("policy", "policy", policy)), nil
}

// onCredential stores a credential. One without a sealed key removes it.
func (a *aiSettings) onCredential(_ time.Time, m aiCredential) (grain.Outcome[grain.None], error) {
	if len(m.Sealed) == 0 {
		a.credential = nil
		return grain.Answer(grain.None{}, grain.Delete("credential", "credential")), nil
	}
	a.credential = &m
	return grain.Answer(grain.None{}, grain.Put("credential", "credential", m)), nil
}

func (a *aiSettings) onMark(_ time.Time, m aiMark) (grain.Outcome[grain.None], error) {
	id := markID(m.User, m.Tool)
	if !m.Always {
		delete(a.always, id)
		return grain.Answer(grain.None{}, grain.Delete("always", id)), nil
	}
	a.always[id] = grain.None{}
	return grain.Answer(grain.None{}, grain.Put("always", id, grain.None{})), nil
}

// Sealer encrypts secrets for the store.
type Sealer interface {
	// Seal encrypts a secret under a name.
	Seal(name string, clear []byte) []byte
	// Open decrypts; it fails if the text was not sealed under the name.
	Open(name string, sealed []byte) ([]byte, error)
}

// AI is the client of the ai actors.
type AI struct {
	Actors grain.Caller
	Sealer Sealer
}

// Settings returns an organization's rules, the tokens that it spent this month, and the tools that a member always
// allows.
func (a *AI) Settings(ctx context.Context, org, user string) (conversation.AISettings, error) {
	state, err := aiSettingsGet.Ask(ctx, a.Actors, org, aiUser{User: user})
	settings := conversation.AISettings{Policy: state.Policy, Spent: state.Spent, Always: state.Always}
	if state.Credential != nil {
		settings.Credential = &state.Credential.AICredential
	}
	return settings, err
}

// Admit counts a question of a member; it fails with rate_limited after 30 in an hour.
func (a *AI) Admit(ctx context.Context, org, user string) error {
	admission, err := aiSettingsAdmit.Ask(ctx, a.Actors, org, aiUser{User: user})
	if err == nil && admission.Wait > 0 {
		err = &domain.Error{Code: domain.CodeRateLimited, RetryAfter: admission.Wait, Message: "A member may ask 30 questions an hour.", Rate: &domain.RateState{
			Class: conversation.RateAI, Quota: conversation.QuestionsPerHour, Window: time.Hour, Reset: admission.Wait,
		}}
	}
	return err
}

// Spend counts the tokens of a completed round.
func (a *AI) Spend(ctx context.Context, org string, usage conversation.Usage) error {
	_, err := aiSettingsSpend.Ask(ctx, a.Actors, org, usage)
	return err
}

// PutPolicy replaces an organization's rules.
func (a *AI) PutPolicy(ctx context.Context, org string, policy conversation.AIPolicy) error {
	_, err := aiSettingsPolicy.Ask(ctx, a.Actors, org, policy)
	return err
}

// PutCredential stores an organization's provider credential, sealed; an empty key removes it.
func (a *AI) PutCredential(ctx context.Context, org string, credential conversation.AICredential, key domain.Secret) error {
	message := aiCredential{AICredential: credential}
	if key != "" {
		message.Sealed = a.Sealer.Seal(org, []byte(key.Reveal()))
	}
	_, err := aiSettingsCredential.Ask(ctx, a.Actors, org, message)
	return err
}

// Credential returns an organization's provider credential with its key, or nil if it has none.
func (a *AI) Credential(ctx context.Context, org string) (*conversation.AICredential, domain.Secret, error) {
	state, err := aiSettingsGet.Ask(ctx, a.Actors, org, aiUser{})
	if err != nil || state.Credential == nil {
		return nil, "", err
	}
	clear, err := a.Sealer.Open(org, state.Credential.Sealed)
	return &state.Credential.AICredential, domain.Secret(clear), err
}

// Mark sets whether a member always allows a tool.
func (a *AI) Mark(ctx context.Context, org, user, tool string, always bool) error {
	_, err := aiSettingsMark.Ask(ctx, a.Actors, org, aiMark{User: user, Tool: tool, Always: always})
	return err
}
