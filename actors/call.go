package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc"
	"svc/cluster"
	"svc/protos"
)

// caller reaches actors wherever they live.
type caller interface {
	Call(ctx context.Context, call *protos.Call) (*protos.Answer, error)
}

// ask sends a message to an actor and decodes its answer.
func ask[R any](ctx context.Context, to caller, kind, identity, method string, message any) (R, error) {
	var result R
	payload, err := json.Marshal(message)
	if err != nil {
		return result, fmt.Errorf("encoding %s: %w", method, err)
	}
	answer, err := to.Call(ctx, &protos.Call{Kind: kind, Identity: identity, Method: method, Payload: payload, Repeatable: repeatable(method)})
	switch {
	case errors.Is(err, cluster.ErrUnavailable):
		return result, svc.Unavailable("The "+kind, time.Second)
	case err != nil:
		return result, fmt.Errorf("asking %s: %w", kind, err)
	case answer.GetFailure() != nil:
		return result, failureError(answer.GetFailure())
	}
	if err := json.Unmarshal(answer.GetPayload(), &result); err != nil {
		return result, fmt.Errorf("decoding the answer to %s: %w", method, err)
	}
	return result, nil
}

// repeatable says of a method, whatever the kind, that executing it twice does no
// harm. Its call is repeated where the answer of another node was lost; the others
// end as unavailable, since they may have been executed.
func repeatable(method string) bool {
	switch method {
	case "get", "reserve", "release", "renew", "role", "members", "seats", "offer.get", "offer.note", "offer.forget", "offers", "enter", "memberships", "apps", "app.find", "keys", "tokens", "token.find", "token.use", "token.used", "token.adopt", "ensure", "use", "view", "occurred", "issues", "stream", "look", cluster.WakeMethod:
		return true
	}
	return false
}

// none is the answer of messages that have nothing to say.
type none struct{}

// failure encodes an error for the way back. What is not an *svc.Error crosses
// as internal: its text is for the log of the node where it happened.
func failure(err error) *protos.Answer {
	shown, ok := errors.AsType[*svc.Error](err)
	if !ok {
		shown = svc.Errorf(svc.CodeInternal, "%s", err.Error())
	}
	encoded, encodingErr := json.Marshal(shown)
	if encodingErr != nil {
		encoded = []byte(`{"Code":"internal"}`)
	}
	return &protos.Answer{Failure: &protos.Failure{Error: encoded}}
}

func failureError(f *protos.Failure) error {
	var shown svc.Error
	if err := json.Unmarshal(f.GetError(), &shown); err != nil {
		return fmt.Errorf("decoding an actor's failure: %w", err)
	}
	return &shown
}

// handler handles one method of a core of type S.
type handler[S any] func(state S, now time.Time, payload []byte) (outcome, error)

// on makes a handler of a function over a typed message.
func on[S, M any](handle func(S, time.Time, M) (outcome, error)) handler[S] {
	return func(state S, now time.Time, payload []byte) (outcome, error) {
		var message M
		if err := json.Unmarshal(payload, &message); err != nil {
			return outcome{}, fmt.Errorf("decoding a message: %w", err)
		}
		return handle(state, now, message)
	}
}

// dispatch finds the handler of a method; an unknown one is answered, never
// left to time out.
func dispatch[S any](handlers map[string]handler[S], state S, now time.Time, method string, payload []byte) (outcome, error) {
	handle := handlers[method]
	if handle == nil {
		return outcome{}, fmt.Errorf("unknown method %q", method)
	}
	return handle(state, now, payload)
}

// Skipped receives an entity that cannot be decoded and was left out of what was loaded of many
// owners. Its own actor fails on it.
type Skipped func(entity svc.Entity, err error)

// decodable reads one entity, nil where it cannot be decoded.
func decodable[T any](entity svc.Entity, skipped Skipped) *T {
	value, err := decode[T](entity)
	if err == nil {
		return &value
	}
	if skipped != nil {
		skipped(entity, err)
	}
	return nil
}

// decode reads one entity.
func decode[T any](entity svc.Entity) (T, error) {
	var value T
	if err := json.Unmarshal(entity.Payload, &value); err != nil {
		return value, fmt.Errorf("decoding %s %s: %w", entity.Kind, entity.ID, err)
	}
	return value, nil
}
