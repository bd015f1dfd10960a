package people

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/person"
	"svc/http/api"
	"svc/http/route"
)

// Erasures erases people.
type Erasures interface {
	// Erase begins to erase a person. When it returns, the person is no longer shown. It may be repeated.
	Erase(ctx context.Context, person *person.Person, erasure person.Erasure) (person.Erasure, error)
	// Customer returns the person with a distinct id, even if only billing names it. It fails with not_found if the id
	// is unknown.
	Customer(ctx context.Context, environment uint64, id string) (person.Person, error)
	// Erasures returns the erasures of an application, the newest first.
	Erasures(ctx context.Context, app domain.AppRef) ([]person.Erasure, error)
}

// isNoPersonID reports whether an id is a distinct id, which may be an address.
func isNoPersonID(id string) bool {
	_, ok := person.ParsePersonID(id)
	return !ok
}

func erasureRoutes(ports Ports) []route.Route {
	d := newDossiers(ports)
	return []route.Route{
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/people/{id}", Operation: "people.erase", Module: domain.ModulePeople, Scope: domain.ScopeAdmin, Permission: domain.PermPeopleWrite, Effect: route.Destructive, Ledger: "person.erased", Rate: domain.RateDefault,
			Private: isNoPersonID,
			Summary: "Erase a person and everything that the person sent", Status: http.StatusAccepted, Handler: route.Typed(d.erase),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/erasures", Operation: "erasures.list", Module: domain.ModulePeople, Scope: domain.ScopeRead, Permission: domain.PermPeopleRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Requests to erase people, and what was removed", Handler: route.Typed(d.listErasures),
		},
	}
}

// erasure is one row of the list; it identifies no person.
type erasure struct {
	ID          string               `json:"id"`
	Environment string               `json:"environment"`
	Status      person.ErasureStatus `json:"status" doc:"hidden: nothing shows the person; removed: the rows are gone; complete: what arrived late is gone as well."`
	RequestedAt route.Time           `json:"requestedAt"`
	RequestedBy *personAuthor        `json:"requestedBy"`
	CompletesBy route.Time           `json:"completesBy"`
	RemovedAt   *route.Time          `json:"removedAt"`
	CompletedAt *route.Time          `json:"completedAt"`
	Removed     erasedCounts         `json:"removed"`
}

type erasedCounts struct {
	Events      uint64 `json:"events"`
	Occurrences uint64 `json:"occurrences"`
	Ids         uint64 `json:"ids" doc:"How many ids the person had."`
	Texts       uint64 `json:"texts" doc:"Texts of conversations and incidents in which the person was blanked."`
}

func erasureOf(e *person.Erasure) erasure {
	row := erasure{
		ID: e.ID, Environment: e.Environment, Status: e.Status, RequestedAt: route.Time(e.At), CompletesBy: route.Time(e.At.Add(person.ErasureBound)),
		RemovedAt: route.TimeOf(e.RemovedAt), CompletedAt: route.TimeOf(e.EndedAt),
		Removed: erasedCounts{e.Removed.Events, e.Removed.Occurrences, e.Removed.Visitors, e.Removed.Texts},
	}
	if e.By.ID != "" {
		row.RequestedBy = &personAuthor{e.By.ID, e.By.Name}
	}
	return row
}

// erasureBegun is the answer of DELETE …/people/{id}.
type erasureBegun struct {
	erasure
	RequestID string `json:"requestId"`
}

// erase erases a person and all of its events. The parameter events of other services is not needed.
func (d dossiers) erase(ctx context.Context, call *route.Call, in personPath) (erasureBegun, error) {
	if !call.Grant.May(domain.PermPeoplePIIRead) {
		return erasureBegun{}, &domain.Error{
			Code: domain.CodeForbidden, Message: "Erasing a person takes people.pii.read.",
			Required: &domain.Required{Scope: domain.ScopeAdmin, Permission: domain.PermPeoplePIIRead},
		}
	}
	found, err := d.erasable(ctx, call, in)
	if err != nil {
		return erasureBegun{}, err
	}
	id := domain.DrawID(ctx, "era_", d.newID)
	call.About(id)
	one, err := d.erasures.Erase(ctx, &found, person.Erasure{
		ID: id, App: in.Env.App, Environment: in.Env.Slug, EnvironmentNumber: in.Env.Number, Visitors: found.Members, At: call.Now.Truncate(time.Millisecond), By: actorOf(call),
		Status: person.ErasureHidden, Removed: person.ErasureCounts{Visitors: uint64(len(found.Members))},
	})
	if err != nil {
		return erasureBegun{}, err
	}
	return erasureBegun{erasureOf(&one), call.RequestID}, nil
}

// erasable finds a person by the id, or by a distinct id: a customer that only billing knows has no other id.
func (d dossiers) erasable(ctx context.Context, call *route.Call, in personPath) (person.Person, error) {
	if _, isID := person.ParsePersonID(in.ID); isID {
		return d.find(ctx, call, in)
	}
	return d.erasures.Customer(ctx, in.Env.Number, in.ID)
}

type listErasures struct {
	api.AppPath
	api.Paging
}

func (d dossiers) listErasures(ctx context.Context, call *route.Call, in listErasures) (domain.Page[erasure], error) {
	all, err := d.erasures.Erasures(ctx, domain.AppRef{Org: in.Org, App: in.App})
	if err != nil {
		return domain.Page[erasure]{}, err
	}
	keyset, err := call.Keyset(in.Cursor, 2)
	if err != nil {
		return domain.Page[erasure]{}, err
	}
	if keyset != nil {
		all = erasuresAfter(all, keyset[0], keyset[1])
	}
	rows := all[:min(len(all), int(in.Limit))]
	return route.PageOf(call, api.Convert(rows, erasureOf), len(all) > len(rows), func(last erasure) []string {
		return []string{strconv.FormatInt(time.Time(last.RequestedAt).UnixMilli(), 10), last.ID}
	}), nil
}

// erasuresAfter returns the erasures after a position in the list.
func erasuresAfter(all []person.Erasure, atMs, id string) []person.Erasure {
	for i := range all {
		at := strconv.FormatInt(all[i].At.UnixMilli(), 10)
		if len(at) < len(atMs) || len(at) == len(atMs) && (at < atMs || at == atMs && all[i].ID < id) {
			return all[i:]
		}
	}
	return nil
}
