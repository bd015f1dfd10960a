package actors

import (
	"context"
	"slices"
	"time"

	"svc"
)

// The ai actor.
//
//	identity   the organization's slug
//	rank       2
//	owns       the organization's rules for the assistant, its provider credential
//	           (sealed), what was spent this month, the tools that members always allow
//	persists   entities policy, credential, spent, always
//	woken by   calls only
//	limits     30 questions an hour and member, counted in memory
//	stops      after two hours without a message, so that it remembers an hour
const kindAI = "ai"

const aiIdle = 2 * time.Hour

type aiSettings struct {
	policy     svc.AIPolicy
	credential *aiCredential
	spent      aiSpent
	always     map[string]none
	asked      map[string][]time.Time
}

type (
	// aiCredential is a provider's credential; the key is sealed.
	aiCredential struct {
		svc.AICredential
		Sealed []byte `json:"sealed"`
	}
	aiSpent struct {
		Month string    `json:"month"`
		Usage svc.Usage `json:"usage"`
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
		Policy     svc.AIPolicy  `json:"policy"`
		Spent      svc.Usage     `json:"spent"`
		Always     []string      `json:"always"`
		Credential *aiCredential `json:"credential"`
	}
)

func aiHandlers() map[string]handler[*aiSettings] {
	return map[string]handler[*aiSettings]{
		"get":        on((*aiSettings).onGet),
		"admit":      on((*aiSettings).onAdmit),
		"spend":      on((*aiSettings).onSpend),
		"policy":     on((*aiSettings).onPolicy),
		"credential": on((*aiSettings).onCredential),
		"mark":       on((*aiSettings).onMark),
	}
}

func (a *aiSettings) apply(now time.Time, method string, payload []byte) (outcome, error) {
	return dispatch(aiHandlers(), a, now, method, payload)
}

func (a *aiSettings) restore(entities []svc.Entity) error {
	asked := a.asked
	*a = aiSettings{always: map[string]none{}, asked: asked}
	if a.asked == nil {
		a.asked = map[string][]time.Time{}
	}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "policy":
			a.policy, err = decode[svc.AIPolicy](entity)
		case "credential":
			var credential aiCredential
			credential, err = decode[aiCredential](entity)
			a.credential = &credential
		case "spent":
			a.spent, err = decode[aiSpent](entity)
		case "always":
			a.always[entity.ID] = none{}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func markID(user, tool string) string { return user + "/" + tool }

func (a *aiSettings) onGet(now time.Time, m aiUser) (outcome, error) {
	state := aiState{Policy: a.policy, Credential: a.credential, Always: []string{}}
	if a.spent.Month == svc.MonthOf(now) {
		state.Spent = a.spent.Usage
	}
	for id := range a.always {
		if len(id) > len(m.User) && id[:len(m.User)+1] == m.User+"/" {
			state.Always = append(state.Always, id[len(m.User)+1:])
		}
	}
	slices.Sort(state.Always)
	return outcome{answer: state}, nil
}

// onAdmit counts a question of a member, or says how long to wait for the next one.
func (a *aiSettings) onAdmit(now time.Time, m aiUser) (outcome, error) {
	recent := slices.DeleteFunc(a.asked[m.User], func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	if len(recent) >= svc.QuestionsPerHour {
		a.asked[m.User] = recent
		return outcome{answer: aiAdmission{Wait: recent[0].Add(time.Hour).Sub(now)}}, nil
	}
	a.asked[m.User] = append(recent, now)
	return outcome{answer: aiAdmission{}}, nil
}

// onSpend counts the tokens of a completed round.
func (a *aiSettings) onSpend(now time.Time, usage svc.Usage) (outcome, error) {
	if month := svc.MonthOf(now); a.spent.Month != month {
		a.spent = aiSpent{Month: month}
	}
	a.spent.Usage = a.spent.Usage.Add(usage)
	return outcome{answer: none{}, writes: []write{{"spent", "spent", a.spent}}}, nil
}

func (a *aiSettings) onPolicy(_ time.Time, policy svc.AIPolicy) (outcome, error) {
	a.policy = policy
	return outcome{answer: none{}, writes: []write{{"policy", "policy", policy}}}, nil
}

// onCredential keeps a credential; one without a sealed key removes it.
func (a *aiSettings) onCredential(_ time.Time, m aiCredential) (outcome, error) {
	if len(m.Sealed) == 0 {
		a.credential = nil
		return outcome{answer: none{}, writes: []write{{"credential", "credential", nil}}}, nil
	}
	a.credential = &m
	return outcome{answer: none{}, writes: []write{{"credential", "credential", m}}}, nil
}

func (a *aiSettings) onMark(_ time.Time, m aiMark) (outcome, error) {
	id := markID(m.User, m.Tool)
	if !m.Always {
		delete(a.always, id)
		return outcome{answer: none{}, writes: []write{{"always", id, nil}}}, nil
	}
	a.always[id] = none{}
	return outcome{answer: none{}, writes: []write{{"always", id, none{}}}}, nil
}

// Sealer hides secrets from the store.
type Sealer interface {
	// Seal hides a secret under a name.
	Seal(name string, clear []byte) []byte
	// Open fails with what was not sealed under the name.
	Open(name string, sealed []byte) ([]byte, error)
}

// AI is the client of the ai actors.
type AI struct {
	Actors caller
	Sealer Sealer
}

// Settings returns an organization's rules, what it spent this month, and the tools
// that a member always allows.
func (a *AI) Settings(ctx context.Context, org, user string) (svc.AISettings, error) {
	state, err := ask[aiState](ctx, a.Actors, kindAI, org, "get", aiUser{User: user})
	settings := svc.AISettings{Policy: state.Policy, Spent: state.Spent, Always: state.Always}
	if state.Credential != nil {
		settings.Credential = &state.Credential.AICredential
	}
	return settings, err
}

// Admit counts a question of a member; it fails with rate_limited after 30 in an hour.
func (a *AI) Admit(ctx context.Context, org, user string) error {
	admission, err := ask[aiAdmission](ctx, a.Actors, kindAI, org, "admit", aiUser{User: user})
	if err == nil && admission.Wait > 0 {
		err = &svc.Error{Code: svc.CodeRateLimited, RetryAfter: admission.Wait, Message: "A member may ask 30 questions an hour."}
	}
	return err
}

// Spend counts the tokens of a completed round.
func (a *AI) Spend(ctx context.Context, org string, usage svc.Usage) error {
	_, err := ask[none](ctx, a.Actors, kindAI, org, "spend", usage)
	return err
}

// PutPolicy replaces an organization's rules.
func (a *AI) PutPolicy(ctx context.Context, org string, policy svc.AIPolicy) error {
	_, err := ask[none](ctx, a.Actors, kindAI, org, "policy", policy)
	return err
}

// PutCredential keeps an organization's provider credential, sealed; an empty key
// removes it.
func (a *AI) PutCredential(ctx context.Context, org string, credential svc.AICredential, key svc.Secret) error {
	message := aiCredential{AICredential: credential}
	if key != "" {
		message.Sealed = a.Sealer.Seal(org, []byte(key.Reveal()))
	}
	_, err := ask[none](ctx, a.Actors, kindAI, org, "credential", message)
	return err
}

// Credential returns an organization's provider credential with its key; it is nil
// where there is none.
func (a *AI) Credential(ctx context.Context, org string) (*svc.AICredential, svc.Secret, error) {
	state, err := ask[aiState](ctx, a.Actors, kindAI, org, "get", aiUser{})
	if err != nil || state.Credential == nil {
		return nil, "", err
	}
	clear, err := a.Sealer.Open(org, state.Credential.Sealed)
	return &state.Credential.AICredential, svc.Secret(clear), err
}

// Mark has a tool always or no longer allowed by a member.
func (a *AI) Mark(ctx context.Context, org, user, tool string, always bool) error {
	_, err := ask[none](ctx, a.Actors, kindAI, org, "mark", aiMark{User: user, Tool: tool, Always: always})
	return err
}
