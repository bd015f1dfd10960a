package people

import (
	"context"

	"svc/domain"
	"svc/domain/person"
	"svc/http/api"
	"svc/http/route"
)

// Companies lists the companies of people.
type Companies interface {
	// Companies returns a page of the companies of an environment.
	Companies(ctx context.Context, query person.CompanyQuery) (person.CompanyList, error)
}

// companies serves the routes of companies.
type companies struct{ companies Companies }

func companyRoutes(ports Ports) []route.Route {
	c := companies{ports.Companies}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/companies", Operation: "companies.list", Module: domain.ModulePeople, Scope: domain.ScopeRead, Permission: domain.PermPeopleRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "People grouped by their company", Handler: route.Typed(c.list),
		},
	}
}

type listCompanies struct {
	api.AppPath
	api.Paging
	Env api.Env `query:"env" doc:"The environment's slug."`
	Q   string  `query:"q" doc:"Any part of the name, in any case."`
}

// company is one row of the list.
type company struct {
	Name        string     `json:"name" doc:"The trait company of the people, or their trait $group where they have none. Without people.pii.read, e-mail addresses in it are hidden."`
	People      uint64     `json:"people"`
	Events      uint64     `json:"events" doc:"What these people did, without bots."`
	FirstSeenAt route.Time `json:"firstSeenAt"`
	LastSeenAt  route.Time `json:"lastSeenAt"`
}

// companyPage is the answer of …/companies.
type companyPage struct {
	domain.Page[company]
	Environment string `json:"environment"`
}

func (c companies) list(ctx context.Context, call *route.Call, in listCompanies) (companyPage, error) {
	query := person.CompanyQuery{Environment: in.Env.Environment, Search: in.Q, Masked: !call.Grant.May(domain.PermPeoplePIIRead), Limit: int(in.Limit)}
	keyset, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return companyPage{}, err
	}
	if keyset != nil {
		query.After = &keyset[0]
	}
	list, err := c.companies.Companies(ctx, query)
	if err != nil {
		return companyPage{}, err
	}
	page := route.PageOf(call, api.Convert(list.Rows, func(one *person.Company) company {
		return company{Name: one.Name, People: one.People, Events: one.Events, FirstSeenAt: route.Time(one.FirstSeenAt), LastSeenAt: route.Time(one.LastSeenAt)}
	}), list.More, func(last company) []string { return []string{last.Name} })
	return companyPage{page, in.Env.Slug}, nil
}
