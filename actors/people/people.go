package people

import (
	"context"

	"svc/actors/grain"
	"svc/domain/person"
)

// People is the client of the person actors.
type People struct{ Actors grain.Caller }

// Change changes the decisions about a person. The patch must be valid; the change is durable when Change returns.
func (p *People) Change(ctx context.Context, change person.Change) (person.Changed, error) {
	answer, err := personPatch.Ask(ctx, p.Actors, personIdentity(change.Environment, change.Visitor), patchPerson{
		Patch: change.Patch, State: change.State, Activity: change.Activity,
	})
	return person.Changed{Before: answer.Before, After: answer.After, Changed: answer.Changed}, err
}

// Note adds an activity to the timeline of a person. It may be repeated with the same id.
func (p *People) Note(ctx context.Context, environment, visitor uint64, activity person.Activity) (person.Activity, error) {
	return personNote.Ask(ctx, p.Actors, personIdentity(environment, visitor), noteActivity{activity})
}
