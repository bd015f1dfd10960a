package grain

import (
	"context"
	"encoding/json"
	"fmt"

	"svc"
)

// forgetMethod is the method that every kind has besides its own: it leaves nothing of an actor.
const forgetMethod = "forget.everything"

// forgetting names what an actor stores.
type forgetting struct {
	Entities []EntityName `json:"entities"`
	Wakeups  []string     `json:"wakeups"`
}

// EntityName names an entity of an owner.
type EntityName struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Forget removes entities and wake-ups of an actor of any kind, which is then as if it were new. It may be
// repeated. The caller has made sure that the actor is not created again.
func Forget(ctx context.Context, to Caller, kind, identity string, entities []EntityName, wakeups []string) error {
	method := Declare[forgetting, None](kind, forgetMethod, Repeatable)
	_, err := method.Ask(ctx, to, identity, forgetting{entities, wakeups})
	return err
}

// forget returns the outcome of forgetMethod.
func (g *Grain) forget(payload []byte) (Outcome[any], error) {
	var named forgetting
	if err := json.Unmarshal(payload, &named); err != nil {
		return Outcome[any]{}, fmt.Errorf("decoding a message: %w", err)
	}
	result := Outcome[any]{Answer: None{}}
	for _, entity := range named.Entities {
		result.Writes = append(result.Writes, Delete(entity.Kind, entity.ID))
	}
	for _, name := range named.Wakeups {
		result.Wakeups = append(result.Wakeups, svc.Wakeup{Kind: g.kind, Identity: g.identity, Name: name})
	}
	// The state is read again: what was not named is still there.
	result.After = func(svc.Version) { g.phase = cold }
	return result, nil
}
