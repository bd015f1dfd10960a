package people

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/person"
	"svc/http/route"
)

// Merges merges two persons into one.
type Merges interface {
	// Merge merges the persons of two visitors; it may be repeated.
	Merge(ctx context.Context, environment, one, other uint64, now time.Time) error
}

func activityRoutes(ports Ports) []route.Route {
	d := newDossiers(ports)
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/people/{id}/timeline", Operation: "people.timeline", Private: isNoPersonID, Module: domain.ModulePeople, Scope: domain.ScopeRead, Permission: domain.PermPeopleRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Events, activities and errors of a person, newest first", Handler: route.Typed(d.timeline),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/people/{id}/notes", Operation: "people.note", Private: isNoPersonID, Module: domain.ModulePeople, Scope: domain.ScopeWrite, Permission: domain.PermPeopleWrite, Effect: route.Write, Unrecorded: "the person's timeline shows it", Rate: domain.RateDefault,
			Summary: "Add a note to the timeline of a person", Status: http.StatusCreated, Handler: route.Typed(d.note),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/people/{id}/merge", Operation: "people.merge", Private: isNoPersonID, Module: domain.ModulePeople, Scope: domain.ScopeWrite, Permission: domain.PermPeopleWrite, Effect: route.Destructive, Ledger: "person.merged", Rate: domain.RateDefault,
			Summary: "Make two records of one person one", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(d.merge),
		},
	}
}

type addNote struct {
	personPath
	Body personNote `body:"json"`
}

// personNote is the body of POST …/people/{id}/notes.
type personNote struct {
	Text string `json:"text" required:"true" doc:"The note, at most 8 KiB."`
}

// Check requires a text of bounded length.
func (n *addNote) Check(*route.Call) []domain.FieldError {
	if text := strings.TrimSpace(n.Body.Text); text == "" || len(text) > person.MaxNoteBytes {
		return []domain.FieldError{{Field: "text", Code: "invalid_value", Message: fmt.Sprintf("text has 1 to %d bytes.", person.MaxNoteBytes)}}
	}
	return nil
}

func (d dossiers) note(ctx context.Context, call *route.Call, in addNote) (timelineEntry, error) {
	found, err := d.find(ctx, call, in.personPath)
	if err != nil {
		return timelineEntry{}, err
	}
	visitor, _ := person.ParsePersonID(found.ID)
	activity, err := d.changes.Note(ctx, in.Env.Number, visitor, person.Activity{
		ID: domain.DrawID(ctx, "crm_", d.newID), Kind: person.ActivityNote, At: call.Now.Truncate(time.Millisecond), By: actorOf(call), Text: strings.TrimSpace(in.Body.Text),
	})
	if err != nil {
		return timelineEntry{}, err
	}
	entry := person.TimelineEntry{TimelineKey: person.TimelineKey{TsMs: activity.At.UnixMilli(), Kind: person.TimelineActivity, ID: activity.ID}, Activity: &activity}
	return entryOf(&entry), nil
}

type mergePeople struct {
	personPath
	Body otherPerson `body:"json"`
}

// otherPerson is the body of POST …/people/{id}/merge.
type otherPerson struct {
	PersonID string `json:"personId" required:"true" doc:"The id of the other record."`
}

// Check refuses ids that cannot identify a person.
func (m *mergePeople) Check(*route.Call) []domain.FieldError {
	if domain.IsPlaceholderID(m.Body.PersonID) {
		return []domain.FieldError{{Field: "personId", Code: domain.CodePlaceholderID, Message: domain.PlaceholderProblem("personId")}}
	}
	return nil
}

// merge merges two persons into one. The result has the id of the older record; the other id finds the same person.
func (d dossiers) merge(ctx context.Context, call *route.Call, in mergePeople) (dossier, error) {
	found, err := d.find(ctx, call, in.personPath)
	if err != nil {
		return dossier{}, err
	}
	other, err := d.findID(ctx, call, in.Env.Environment, in.Body.PersonID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return dossier{}, domain.Invalid(domain.FieldError{Field: "personId", Code: "unknown_person", Message: "No person of the environment has the id."})
	}
	if err != nil {
		return dossier{}, err
	}
	merged := other.Number == found.Number
	if merged && !domain.IsRepeated(ctx) {
		return dossier{}, domain.Errorf(domain.CodeConflict, "Both ids belong to one person already.")
	}
	one, _ := person.ParsePersonID(found.ID)
	two, _ := person.ParsePersonID(other.ID)
	call.About(found.ID)
	// The note comes first: it records the decision, so the merge can be sent to the store again.
	_, err = d.changes.Note(ctx, in.Env.Number, one, person.Activity{
		ID: domain.DrawID(ctx, "crm_", d.newID), Kind: person.ActivityMerge, At: call.Now.Truncate(time.Millisecond), By: actorOf(call), Merged: other.ID,
	})
	if err != nil {
		return dossier{}, err
	}
	if !merged { // Otherwise the request that this one repeats has merged them.
		if err := d.merges.Merge(ctx, in.Env.Number, one, two, call.Now); err != nil {
			return dossier{}, err
		}
	}
	person, err := d.find(ctx, call, in.personPath)
	if err != nil {
		return dossier{}, err
	}
	return dossier{shownPerson(call)(&person), in.Env.Slug}, nil
}
