package people

import (
	"context"
	"time"

	"svc/domain"
	"svc/domain/person"
	"svc/domain/segment"
	"svc/http/route"
)

// Changes stores the decisions of members about people.
type Changes interface {
	// Change applies a valid patch to the decisions about a person.
	Change(ctx context.Context, change person.Change) (person.Changed, error)
	// Note adds an activity to the timeline of the person of a visitor; it may be repeated.
	Note(ctx context.Context, environment, visitor uint64, activity person.Activity) (person.Activity, error)
}

type updatePerson struct {
	personPath
	Body personPatch `body:"json"`
}

// personPatch is the body of PATCH …/people/{id}; absent fields stay unchanged.
type personPatch struct {
	Stage route.Nullable[segment.LifecycleStage] `json:"stage" doc:"The stage; the rules no longer move it. null has the rules decide again."`
	Tags  *[]string                              `json:"tags" doc:"Replaces all tags; trimmed, sorted, at most 32."`
	CRM   map[string]value                       `json:"crm" doc:"Changes the fields that it names; null removes one."`
}

// patch returns the patch of the body.
func (u *updatePerson) patch() person.Patch {
	patch := person.Patch{Tags: u.Body.Tags, CRM: membersOf(u.Body.CRM)}
	if u.Body.Stage.Set {
		patch.Stage = new(segment.LifecycleStage)
		if u.Body.Stage.Value != nil {
			patch.Stage = u.Body.Stage.Value
		}
	}
	return patch
}

// Check applies the rules of people.
func (u *updatePerson) Check(*route.Call) []domain.FieldError {
	patch := u.patch()
	if u.Body.Stage.Value != nil && *u.Body.Stage.Value == "" {
		return []domain.FieldError{{Field: "stage", Code: "unknown_stage", Message: "The stage is empty; null has the rules decide again.", Allowed: stageChoice().Allowed}}
	}
	return patch.Validate()
}

// personDecision is the state that members decided for a person.
type personDecision struct {
	Stage       segment.LifecycleStage `json:"stage"`
	StageSource string                 `json:"stageSource"`
	Tags        []string               `json:"tags"`
	CRM         map[string]value       `json:"crm"`
}

// personChanged is the answer of PATCH …/people/{id}.
type personChanged struct {
	ID      string         `json:"id"`
	Changed []string       `json:"changed" doc:"stage, tags and crm, where they changed."`
	Before  personDecision `json:"before"`
	After   personDecision `json:"after"`
}

func (d dossiers) update(ctx context.Context, call *route.Call, in updatePerson) (personChanged, error) {
	found, err := d.find(ctx, call, in.personPath)
	if err != nil {
		return personChanged{}, err
	}
	patch := in.patch()
	patch.Normalise()
	visitor, _ := person.ParsePersonID(found.ID)
	call.About(found.ID)
	change, err := d.changes.Change(ctx, person.Change{
		Environment: in.Env.Number, Visitor: visitor, Patch: patch, State: found.State,
		Activity: person.Activity{ID: domain.DrawID(ctx, "crm_", d.newID), Kind: person.ActivityUpdate, At: call.Now.Truncate(time.Millisecond), By: actorOf(call), Patch: &patch},
	})
	if err != nil {
		return personChanged{}, err
	}
	shown := func(state person.State) personDecision {
		if !call.Grant.May(domain.PermPeoplePIIRead) {
			state = state.Masked()
		}
		one := person.Person{Reached: found.Reached, State: state}
		stage, source := one.Stage()
		return personDecision{Stage: stage, StageSource: source, Tags: state.TagList(), CRM: valuesOf(state.Fields())}
	}
	return personChanged{ID: found.ID, Changed: change.Changed, Before: shown(change.Before), After: shown(change.After)}, nil
}

// actorOf returns the member that makes a call.
func actorOf(call *route.Call) domain.LedgerActor {
	if user := call.Grant.Token.User; user != nil {
		return domain.LedgerActor{ID: user.ID, Name: user.Name}
	}
	return domain.LedgerActor{}
}
