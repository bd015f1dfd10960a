// Package llm calls models of three families: two by one streaming POST each, Gemini by its library. A round is
// streamed. A failed round is repeated only if no part of it was received. A circuit breaker per provider and
// organization stops calls to a provider that does not answer. The texts of providers' errors do not leave this
// package.
package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"svc/domain"
	"svc/domain/conversation"
)

// Access contains the address and the credential of a model.
type Access struct {
	Provider conversation.AIProvider
	Model    string
	Key      domain.Secret
	// BaseURL replaces the family's own address.
	BaseURL string
}

// Credentials finds the credential that an organization has stored, nil if it has none.
type Credentials interface {
	Credential(ctx context.Context, org string) (*conversation.AICredential, domain.Secret, error)
}

// Models returns the models of organizations: with their own credential, else with the platform's.
type Models struct {
	Credentials Credentials
	// Platform is the platform's access; it is unavailable without a key.
	Platform Access
	Client   *http.Client

	mu    sync.Mutex
	known map[modelKey]*Model
}

type modelKey struct {
	org    string
	access Access
}

// DefaultModel is the model of a family if the configuration names none.
func DefaultModel(family conversation.AIProvider) string {
	switch family {
	case conversation.ProviderGemini:
		return "gemini-2.5-flash"
	case conversation.ProviderAnthropic:
		return "claude-sonnet-5-5"
	case conversation.ProviderOpenAI:
		return "gpt-5.4-mini"
	}
	return ""
}

// Model returns the model of an organization. It fails with provider_unavailable if neither the organization nor the
// platform has a credential.
func (m *Models) Model(ctx context.Context, org string) (*Model, error) {
	access := m.Platform
	credential, key, err := m.Credentials.Credential(ctx, org)
	if err != nil {
		return nil, err
	}
	if credential != nil {
		access = Access{Provider: credential.Provider, Model: credential.Model, Key: key}
		if credential.Provider == m.Platform.Provider {
			access.BaseURL = m.Platform.BaseURL
		}
	}
	if access.Key == "" || DefaultModel(access.Provider) == "" {
		return nil, domain.Errorf(conversation.CodeProviderUnavailable, "No model provider is configured for the organization.")
	}
	if access.Model == "" {
		access.Model = DefaultModel(access.Provider)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[modelKey]*Model{}
	}
	found := m.known[modelKey{org, access}]
	if found == nil {
		if found, err = newModel(access, m.Client); err != nil { //nolint:contextcheck // the model outlives the question that it is first asked for
			return nil, err
		}
		m.known[modelKey{org, access}] = found
	}
	return found, nil
}

// stream sends one request to a model and adds its answer to a reply. It calls received before it passes on any part of
// the answer; after that the round cannot be repeated. Goroutines wait in it for the duration of answers, so request
// and reply are passed by pointer to keep their stacks small.
type stream func(ctx context.Context, request *conversation.ModelRequest, received func(), text func(string), reply *conversation.ModelReply) error

// Model is one model with the access of one organization.
type Model struct {
	access  Access
	ask     stream
	breaker *gobreaker.TwoStepCircuitBreaker[any]
	pause   func(ctx context.Context, attempt int) error
}

// The breaker opens after this number of consecutive failed rounds, for this time.
const (
	breakerFailures = 5
	breakerTime     = 30 * time.Second
)

func newModel(access Access, client *http.Client) (*Model, error) {
	if client == nil {
		client = &http.Client{ // The turn's context bounds the request.
			Transport: transport(),
			// A redirect would carry the credential to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	made := &Model{access: access, pause: pause, breaker: gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Name: string(access.Provider), Timeout: breakerTime,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= breakerFailures },
	})}
	var err error
	switch access.Provider {
	case conversation.ProviderAnthropic:
		made.ask = newAnthropic(access, client)
	case conversation.ProviderOpenAI:
		made.ask = newOpenAI(access, client)
	case conversation.ProviderGemini:
		made.ask, err = newGemini(access, client)
	default:
		err = fmt.Errorf("unknown provider %q", access.Provider)
	}
	return made, err
}

const (
	// maxAttempts is the number of attempts at a round while no part of it is received.
	maxAttempts = 3
	// silence is the maximum pause of a provider within a round. Models that reason are silent for minutes, and the
	// time of the turn bounds all its rounds.
	silence = conversation.TurnTime
	// firstPause doubles with every attempt.
	firstPause = 300 * time.Millisecond
)

func pause(ctx context.Context, attempt int) error {
	select {
	case <-time.After(firstPause << attempt):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// statusError is a provider's refusal.
type statusError struct{ status int }

func (e statusError) Error() string { return fmt.Sprintf("the provider answered %d", e.status) }

// errSilent ends a round in which the provider sent nothing for too long.
var errSilent = errors.New("the provider sent nothing for too long")

// retryable reports whether a failed attempt may be repeated: the provider was unreachable or too busy, or it failed.
func retryable(err error) bool {
	if refused, ok := errors.AsType[statusError](err); ok {
		return refused.status == http.StatusTooManyRequests || refused.status == http.StatusRequestTimeout || refused.status >= http.StatusInternalServerError
	}
	return true
}

// Round sends a request to the model.
func (m *Model) Round(ctx context.Context, request *conversation.ModelRequest, text func(string), reply *conversation.ModelReply) error {
	done, err := m.breaker.Allow()
	if err != nil {
		return domain.Errorf(conversation.CodeProviderError, "The model provider has failed repeatedly; try again in half a minute.")
	}
	err = m.attempts(ctx, request, text, reply)
	if ctx.Err() != nil { // The turn was cancelled, which says nothing about the provider.
		done(nil)
		return ctx.Err()
	}
	if refused, ok := errors.AsType[statusError](err); ok && !retryable(err) {
		done(nil)
		return domain.Errorf(conversation.CodeProviderError, "The model provider refused the request (%d).", refused.status)
	}
	done(err)
	return shown(err)
}

// attempts makes attempts until one succeeds or a part of an answer arrives, or until another attempt would be useless.
func (m *Model) attempts(ctx context.Context, request *conversation.ModelRequest, text func(string), reply *conversation.ModelReply) error {
	for attempt := 0; ; attempt++ {
		var received bool
		*reply = conversation.ModelReply{}
		err := m.attempt(ctx, request, &received, text, reply)
		if err == nil || ctx.Err() != nil || received || !retryable(err) || attempt+1 >= maxAttempts || m.pause(ctx, attempt) != nil {
			return err
		}
	}
}

// attempt makes one attempt. It ends the attempt if the provider is silent for too long.
func (m *Model) attempt(ctx context.Context, request *conversation.ModelRequest, received *bool, text func(string), reply *conversation.ModelReply) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watch.Stop()
	err := m.ask(ctx, request, func() { *received = true; watch.Reset(silence) }, text, reply)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	return err
}

// shown returns the error that members see.
func shown(err error) error {
	refused, isStatus := errors.AsType[statusError](err)
	switch {
	case err == nil:
		return nil
	case isStatus && refused.status == http.StatusTooManyRequests:
		return domain.Errorf(domain.CodeRateLimited, "The model provider is over its limit; try again later.")
	case isStatus:
		return domain.Errorf(conversation.CodeProviderError, "The model provider failed (%d).", refused.status)
	case errors.Is(err, errSilent):
		return domain.Errorf(conversation.CodeProviderError, "The model provider stopped answering.")
	}
	return domain.Errorf(conversation.CodeProviderError, "The connection to the model provider failed.")
}

// maxOutput bounds the tokens of one round's answer.
const maxOutput = 8192
