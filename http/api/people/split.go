package people

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/person"
	"svc/http/api"
	"svc/http/route"
)

// Splits removes ids from people.
type Splits interface {
	// VisitorOf returns the present number of an id in an environment.
	VisitorOf(environment uint64, id string) uint64
	// Tied reports whether an alias or a merge names an id.
	Tied(ctx context.Context, environment, visitor uint64) (bool, error)
	// Split removes an id from its person. It may be repeated.
	Split(ctx context.Context, environment uint64, split person.Split) error
}

func splitRoutes(ports Ports) []route.Route {
	d := newDossiers(ports)
	return []route.Route{
		{
			Surface: route.Manage, Method: http.MethodPost, Path: "/apps/{org}/{app}/people/{person}/split", Operation: "people.split", Addition: true, Module: domain.ModulePeople, Scope: domain.ScopeWrite, Permission: domain.PermPeopleWrite, Effect: route.Destructive, Ledger: "person.split", Rate: domain.RateDefault,
			Summary: "Remove an id from a person", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(d.split),
		},
	}
}

type splitPerson struct {
	api.AppPath
	Person string  `path:"person" doc:"The person's id."`
	Env    api.Env `query:"env" doc:"The environment's slug."`
	Body   splitID `body:"json"`
}

// splitID is the body of POST …/people/{id}/split.
type splitID struct {
	ID   string      `json:"id" required:"true" doc:"The distinct or anonymous id to remove from the person."`
	From *route.Time `json:"from" doc:"Events of the id from this time on are its own. If it is absent, all of them are."`
}

// Check requires a time that is not in the future.
func (s *splitPerson) Check(call *route.Call) []domain.FieldError {
	if s.Body.ID == "" {
		return []domain.FieldError{{Field: "id", Code: "invalid_value", Message: "id is empty; give one of the person's distinctIds."}}
	}
	if from := s.Body.From; from != nil && (time.Time(*from).After(call.Now) || time.Time(*from).UnixMilli() <= 0) {
		return []domain.FieldError{{Field: "from", Code: "invalid_value", Message: "from is a time between 1970 and now."}}
	}
	return nil
}

// splitPeople is the answer of POST …/people/{id}/split.
type splitPeople struct {
	Person      *personJSON `json:"person" doc:"The person without the id; null if nothing of the person is left."`
	Own         *personJSON `json:"own" doc:"The person of the id; null if it has no events of its own yet."`
	Environment string      `json:"environment"`
}

// split removes an id from a person. It notes the decision first, so the caller can send the noted decision to the
// store again.
func (d dossiers) split(ctx context.Context, call *route.Call, in splitPerson) (splitPeople, error) {
	found, err := d.findID(ctx, call, in.Env.Environment, in.Person)
	if err != nil {
		return splitPeople{}, err
	}
	visitor := d.splits.VisitorOf(in.Env.Number, in.Body.ID)
	rest := slices.DeleteFunc(slices.Clone(found.Members), func(member uint64) bool { return member == visitor })
	switch {
	case len(rest) == len(found.Members):
		return splitPeople{}, domain.Invalid(domain.FieldError{Field: "id", Code: "unknown_id", Message: "The person has no such id.", Allowed: shownIDs(call, &found)})
	case len(rest) == 0:
		return splitPeople{}, domain.Errorf(domain.CodeConflict, "The person has no other id.")
	}
	devices, err := d.splits.Tied(ctx, in.Env.Number, visitor)
	if err != nil {
		return splitPeople{}, err
	}
	split := person.Split{Visitor: visitor, At: call.Now.Truncate(time.Millisecond), Devices: devices}
	activity := person.Activity{ID: domain.DrawID(ctx, "crm_", d.newID), Kind: person.ActivitySplit, At: split.At, By: actorOf(call), Split: person.ID(visitor), Devices: devices}
	if in.Body.From != nil {
		split.Since = new(time.Time(*in.Body.From).Truncate(time.Millisecond))
		activity.Since = split.Since
	}
	call.About(found.ID)
	owner, _ := person.ParsePersonID(found.ID)
	if activity, err = d.changes.Note(ctx, in.Env.Number, owner, activity); err != nil {
		return splitPeople{}, err
	}
	split.At = activity.At
	if err := d.splits.Split(ctx, in.Env.Number, split); err != nil {
		return splitPeople{}, err
	}
	return d.afterSplit(ctx, call, in, visitor, rest)
}

// afterSplit reads the person of the removed id and the person of the other ids.
func (d dossiers) afterSplit(ctx context.Context, call *route.Call, in splitPerson, visitor uint64, rest []uint64) (splitPeople, error) {
	out := splitPeople{Environment: in.Env.Slug}
	for _, one := range []struct {
		into    **personJSON
		visitor uint64
	}{{&out.Own, visitor}, {&out.Person, rest[0]}} {
		found, err := d.people.Person(ctx, in.Env.Number, one.visitor)
		if domain.CodeOf(err) == domain.CodeNotFound {
			continue
		}
		if err != nil {
			return out, err
		}
		*one.into = new(shownPerson(call)(&found))
	}
	return out, nil
}

// shownIDs returns the ids of a person if the caller may see them.
func shownIDs(call *route.Call, p *person.Person) []string {
	if !call.Grant.May(domain.PermPeoplePIIRead) {
		return nil
	}
	return p.DistinctIDs
}

// splitSummary describes in one line the ids that were removed from a person.
func splitSummary(a *person.Activity) string {
	if a.Since == nil {
		return "removed " + a.Split
	}
	return fmt.Sprintf("removed %s from %s on", a.Split, a.Since.UTC().Format(time.RFC3339))
}
