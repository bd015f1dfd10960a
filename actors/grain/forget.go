package grain

import (
	"context"
	"encoding/json"
	"fmt"

	"svc/domain"
)

// forgetMethod is the method that every kind has in addition to its own: it removes everything that an actor stores.
const forgetMethod = "forget.everything"

// forgetting lists the stored entities and wake-ups of an actor.
type forgetting struct {
	Entities []EntityName `json:"entities"`
	Wakeups  []string     `json:"wakeups"`
}

// EntityName names an entity of an owner.
type EntityName struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Forget removes entities and wake-ups of an actor of any kind. If it names all of them, the actor is as if it were
// new. It may be repeated. The caller ensures that the actor is not created again.
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
		result.Wakeups = append(result.Wakeups, domain.Wakeup{Kind: g.kind, Identity: g.identity, Name: name})
	}
	// The state is loaded again, since entities that were not named still exist.
	result.After = func(domain.Version) { g.phase = cold }
	return result, nil
}
