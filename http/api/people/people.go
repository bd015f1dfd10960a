package people

import (
	"context"
	"strconv"

	"svc/domain"
	"svc/domain/person"
	"svc/domain/segment"
	"svc/domain/share"
	"svc/http/api"
	"svc/http/route"
)

// People reads people.
type People interface {
	// People returns a page of the people of an environment.
	People(ctx context.Context, query person.Query) (person.List, error)
	// Person returns the person of a visitor, by the visitor's number. It fails with not_found if no person of the
	// environment has the visitor.
	Person(ctx context.Context, environment, visitor uint64) (person.Person, error)
}

// dossiers serves the routes of people.
type dossiers struct {
	people    People
	changes   Changes
	timelines Timelines
	merges    Merges
	splits    Splits
	segments  Segments
	erasures  Erasures
	dropOffs  DropOffs
	newID     func(prefix string) string
}

func newDossiers(ports Ports) dossiers {
	return dossiers{people: ports.People, changes: ports.Changes, timelines: ports.Timelines, merges: ports.Merges, splits: ports.Splits, segments: ports.Segments, erasures: ports.Erasures, dropOffs: ports.DropOffs, newID: ports.NewID}
}

func personRoutes(ports Ports) []route.Route {
	d := newDossiers(ports)
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/people", Operation: "people.list", Module: domain.ModulePeople, Scope: domain.ScopeRead, Permission: domain.PermPeopleRead, AppPart: share.AppFunnels, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Search people", Handler: route.Typed(d.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/people/{id}", Operation: "people.get", Private: isNoPersonID, Module: domain.ModulePeople, Scope: domain.ScopeRead, Permission: domain.PermPeopleRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "One person in full", Handler: route.Typed(d.get),
		},
		{
			Surface: route.Manage, Method: "PATCH", Path: "/apps/{org}/{app}/people/{id}", Operation: "people.update", Private: isNoPersonID, Module: domain.ModulePeople, Scope: domain.ScopeWrite, Permission: domain.PermPeopleWrite, Effect: route.Write, Ledger: "person.updated", Rate: domain.RateDefault,
			Summary: "Change the stage, the tags or the CRM fields of a person", Handler: route.Typed(d.update),
		},
	}
}

// personJSON is one row of the list, and a dossier (contract 51).
type personJSON struct {
	ID             string                 `json:"id" doc:"Any id that the person ever had finds the person."`
	DistinctID     *string                `json:"distinctId" doc:"The oldest id under which the person was identified, else the oldest one of all."`
	DistinctIDs    []string               `json:"distinctIds" doc:"All ids of the person that sent events."`
	Email          *string                `json:"email" doc:"Masked without people.pii.read."`
	Name           *string                `json:"name" doc:"Masked without people.pii.read."`
	Company        *string                `json:"company"`
	Traits         map[string]value       `json:"traits" doc:"Of each trait the value told last, at most 64."`
	FirstSource    *string                `json:"firstSource"`
	FirstMedium    *string                `json:"firstMedium"`
	FirstCampaign  *string                `json:"firstCampaign"`
	FirstReferrer  *string                `json:"firstReferrer"`
	FirstURL       *string                `json:"firstUrl"`
	LastSource     *string                `json:"lastSource"`
	LastMedium     *string                `json:"lastMedium"`
	LastCampaign   *string                `json:"lastCampaign"`
	LastReferrer   *string                `json:"lastReferrer"`
	LastURL        *string                `json:"lastUrl"`
	Country        *string                `json:"country"`
	Region         *string                `json:"region"`
	City           *string                `json:"city"`
	Device         *string                `json:"device"`
	Browser        *string                `json:"browser"`
	OS             *string                `json:"os"`
	FirstSeenAt    route.Time             `json:"firstSeenAt"`
	LastSeenAt     route.Time             `json:"lastSeenAt"`
	Sessions       uint64                 `json:"sessions"`
	Events         uint64                 `json:"events"`
	Pageviews      uint64                 `json:"pageviews"`
	LifecycleStage segment.LifecycleStage `json:"lifecycleStage"`
	StageSource    string                 `json:"stageSource" doc:"manual where a member set the stage, auto where the rules did." enum:"auto,manual"`
	Tags           []string               `json:"tags"`
	CRM            map[string]value       `json:"crm"`
	Revenue        *personRevenue         `json:"revenue" doc:"null where no billing is connected; see the documentation of revenue."`
}

// personRevenue is the revenue of one person.
type personRevenue struct {
	Status   string `json:"status" doc:"none, trialing, active, past_due or canceled."`
	MRRCents int64  `json:"mrrCents" doc:"Of all subscriptions of the person."`
	Currency string `json:"currency"`
}

func personOf(p *person.Person) personJSON {
	stage, source := p.Stage()
	var revenue *personRevenue
	if p.Revenue != nil {
		revenue = &personRevenue{Status: p.Revenue.Status, MRRCents: p.Revenue.MRRCents, Currency: p.Revenue.Currency}
	}
	return personJSON{
		Revenue: revenue,
		ID:      p.ID, DistinctID: api.OrNull(p.DistinctID), DistinctIDs: p.DistinctIDs, Email: api.OrNull(p.Email), Name: api.OrNull(p.Name),
		Company: api.OrNull(p.Company), Traits: valuesOf(p.Traits),
		FirstSource: api.OrNull(p.First.Source), FirstMedium: api.OrNull(p.First.Medium), FirstCampaign: api.OrNull(p.First.Campaign),
		FirstReferrer: api.OrNull(p.First.Referrer), FirstURL: api.OrNull(p.First.URL),
		LastSource: api.OrNull(p.Last.Source), LastMedium: api.OrNull(p.Last.Medium), LastCampaign: api.OrNull(p.Last.Campaign),
		LastReferrer: api.OrNull(p.Last.Referrer), LastURL: api.OrNull(p.Last.URL),
		Country: api.OrNull(p.Place.Country), Region: api.OrNull(p.Place.Region), City: api.OrNull(p.Place.City), Device: api.OrNull(p.Place.Device),
		Browser: api.OrNull(p.Place.Browser), OS: api.OrNull(p.Place.OS),
		FirstSeenAt: route.Time(p.FirstSeenAt), LastSeenAt: route.Time(p.LastSeenAt), Sessions: p.Sessions, Events: p.Events, Pageviews: p.Pageviews,
		LifecycleStage: stage, StageSource: source, Tags: p.State.TagList(), CRM: valuesOf(p.State.Fields()),
	}
}

// shownPerson returns the function that makes the answer of a person for the caller.
func shownPerson(call *route.Call) func(*person.Person) personJSON {
	seesPersons := call.Grant.May(domain.PermPeoplePIIRead)
	return func(p *person.Person) personJSON {
		if !seesPersons {
			p.Mask()
		}
		return personOf(p)
	}
}

// stageParam is the parameter stage; empty if the request names none.
type stageParam segment.LifecycleStage

func stageChoice() api.Choice {
	return api.Choice{Field: "stage", What: "stage", Allowed: api.Words(segment.LifecycleStages())}
}

// Parse reads the stage.
func (s *stageParam) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := stageChoice().Parse(words)
	*s = stageParam(word)
	if len(problems) > 0 {
		problems[0].Code = "unknown_stage"
	}
	return problems
}

// Schema describes the parameter.
func (stageParam) Schema() route.Schema {
	return route.Schema{"type": "string", "enum": api.Words(segment.LifecycleStages())}
}

type listPeople struct {
	api.AppPath
	api.Paging
	Env   api.Env    `query:"env" doc:"The environment's slug."`
	Q     string     `query:"q" doc:"Matches the distinct ids and the company, and with people.pii.read the e-mail address and the name; any part, in any case."`
	Stage stageParam `query:"stage" doc:"People in the stage."`
	Tag   []string   `query:"tag" doc:"People who have the tag; of several, all."`

	Segment string `query:"segment" doc:"People who are in the segment, by its id."`
	dropOff
}

// personPage is the answer of …/people.
type personPage struct {
	domain.Page[personJSON]
	Environment string `json:"environment"`
}

func (d dossiers) list(ctx context.Context, call *route.Call, in listPeople) (personPage, error) {
	query := person.Query{
		Environment: in.Env.Environment, Search: in.Q, SearchMasked: !call.Grant.May(domain.PermPeoplePIIRead),
		Stage: segment.LifecycleStage(in.Stage), Tags: in.Tag, Now: call.Now, Limit: int(in.Limit),
	}
	if in.Segment != "" {
		found, err := segmentOf(ctx, d.segments, call, in.Segment)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return personPage{}, domain.Invalid(domain.FieldError{Field: "segment", Code: "unknown_segment", Message: "The application has no segment of this id."})
		}
		if err != nil {
			return personPage{}, err
		}
		query.Segment = &found
	}
	if in.Funnel != "" {
		dropped, err := d.whoDroppedOff(ctx, call, in.Env.Environment, in.dropOff)
		if err != nil {
			return personPage{}, err
		}
		query.Persons = dropped
	}
	return pageOfPeople(ctx, call, d.people, query, in.Cursor)
}

// pageOfPeople answers a page of people.
func pageOfPeople(ctx context.Context, call *route.Call, people People, query person.Query, cursor string) (personPage, error) {
	var err error
	if query.After, err = personKey(call, cursor); err != nil {
		return personPage{}, err
	}
	list, err := people.People(ctx, query)
	if err != nil {
		return personPage{}, err
	}
	page := route.PageOf(call, api.Convert(list.Rows, shownPerson(call)), list.More, func(personJSON) []string {
		return []string{strconv.FormatInt(list.Last.BeganMs, 10), strconv.FormatUint(list.Last.Number, 10)}
	})
	return personPage{Page: page, Environment: query.Environment.Slug}, nil
}

// personKey reads the position of a cursor in the list.
func personKey(call *route.Call, cursor string) (*person.Key, error) {
	keyset, err := call.Keyset(cursor, 2)
	if keyset == nil || err != nil {
		return nil, err
	}
	began, badTime := strconv.ParseInt(keyset[0], 10, 64)
	number, badNumber := strconv.ParseUint(keyset[1], 10, 64)
	if badTime != nil || badNumber != nil {
		return nil, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	return &person.Key{BeganMs: began, Number: number}, nil
}

// personPath is the address of a person in a path.
type personPath struct {
	api.AppPath
	ID  string  `path:"id" doc:"The person's id. With people.pii.read, a distinct id or an anonymous id finds the person as well."`
	Env api.Env `query:"env" doc:"The environment's slug."`
}

// find returns the person of a path.
func (d dossiers) find(ctx context.Context, call *route.Call, in personPath) (person.Person, error) {
	return d.findID(ctx, call, in.Env.Environment, in.ID)
}

// findID returns the person with an id: a person's id, a distinct id or an anonymous id. A caller without
// people.pii.read finds no person by the last two, because it could confirm a guess with them.
func (d dossiers) findID(ctx context.Context, call *route.Call, env domain.Environment, id string) (person.Person, error) {
	if visitor, ok := person.ParsePersonID(id); ok {
		return d.people.Person(ctx, env.Number, visitor)
	}
	if !call.Grant.May(domain.PermPeoplePIIRead) || domain.IsPlaceholderID(id) {
		return person.Person{}, domain.NotFound("person")
	}
	found, err := d.erasures.Customer(ctx, env.Number, id)
	if err == nil && found.Events == 0 { // Only billing knows the customer.
		err = domain.NotFound("person")
	}
	return found, err
}

// dossier is the answer of …/people/{id}.
type dossier struct {
	personJSON
	Environment string `json:"environment"`
}

func (d dossiers) get(ctx context.Context, call *route.Call, in personPath) (dossier, error) {
	found, err := d.find(ctx, call, in)
	if err != nil {
		return dossier{}, err
	}
	return dossier{shownPerson(call)(&found), in.Env.Slug}, nil
}
