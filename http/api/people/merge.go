package people

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"svc"
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
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/people/{id}/timeline", Operation: "people.timeline", Private: isNoPersonID, Module: svc.ModulePeople, Scope: svc.ScopeRead, Permission: svc.PermPeopleRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Events, activities and errors of a person, newest first", Handler: route.Typed(d.timeline),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/people/{id}/notes", Operation: "people.note", Private: isNoPersonID, Module: svc.ModulePeople, Scope: svc.ScopeWrite, Permission: svc.PermPeopleWrite, Effect: route.Write, Unrecorded: "the person's timeline shows it", Rate: svc.RateDefault,
			Summary: "Add a note to the timeline of a person", Status: http.StatusCreated, Handler: route.Typed(d.note),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/people/{id}/merge", Operation: "people.merge", Private: isNoPersonID, Module: svc.ModulePeople, Scope: svc.ScopeWrite, Permission: svc.PermPeopleWrite, Effect: route.Destructive, Ledger: "person.merged", Rate: svc.RateDefault,
			Summary: "Make two records of one person one", Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(d.merge),
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
func (n *addNote) Check(*route.Call) []svc.FieldError {
	if text := strings.TrimSpace(n.Body.Text); text == "" || len(text) > svc.MaxNoteBytes {
		return []svc.FieldError{{Field: "text", Code: "invalid_value", Message: fmt.Sprintf("text has 1 to %d bytes.", svc.MaxNoteBytes)}}
	}
	return nil
}

func (d dossiers) note(ctx context.Context, call *route.Call, in addNote) (timelineEntry, error) {
	found, err := d.find(ctx, call, in.personPath)
	if err != nil {
		return timelineEntry{}, err
	}
	visitor, _ := svc.ParsePersonID(found.ID)
	activity, err := d.changes.Note(ctx, in.Env.Number, visitor, svc.Activity{
		ID: svc.DrawID(ctx, "crm_", d.newID), Kind: svc.ActivityNote, At: call.Now.Truncate(time.Millisecond), By: actorOf(call), Text: strings.TrimSpace(in.Body.Text),
	})
	if err != nil {
		return timelineEntry{}, err
	}
	entry := svc.TimelineEntry{TimelineKey: svc.TimelineKey{TsMs: activity.At.UnixMilli(), Kind: svc.TimelineActivity, ID: activity.ID}, Activity: &activity}
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
func (m *mergePeople) Check(*route.Call) []svc.FieldError {
	if svc.IsPlaceholderID(m.Body.PersonID) {
		return []svc.FieldError{{Field: "personId", Code: svc.CodePlaceholderID, Message: svc.PlaceholderProblem("personId")}}
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
	if svc.CodeOf(err) == svc.CodeNotFound {
		return dossier{}, svc.Invalid(svc.FieldError{Field: "personId", Code: "unknown_person", Message: "No person of the environment has the id."})
	}
	if err != nil {
		return dossier{}, err
	}
	merged := other.Number == found.Number
	if merged && !svc.IsRepeated(ctx) {
		return dossier{}, svc.Errorf(svc.CodeConflict, "Both ids belong to one person already.")
	}
	one, _ := svc.ParsePersonID(found.ID)
	two, _ := svc.ParsePersonID(other.ID)
	call.About(found.ID)
	// The note comes first: it records the decision, so the merge can be sent to the store again.
	_, err = d.changes.Note(ctx, in.Env.Number, one, svc.Activity{
		ID: svc.DrawID(ctx, "crm_", d.newID), Kind: svc.ActivityMerge, At: call.Now.Truncate(time.Millisecond), By: actorOf(call), Merged: other.ID,
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
