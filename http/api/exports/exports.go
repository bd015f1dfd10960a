package exports

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/export"
	"svc/http/api"
	"svc/http/route"
)

// exports serves the routes of exports.
type exports struct{ Ports }

// exportJSON is one row of the list, and the answer of …/exports/{id}.
type exportJSON struct {
	ID            string        `json:"id"`
	Kind          export.Kind   `json:"kind"`
	Format        export.Format `json:"format"`
	Environment   string        `json:"environment"`
	From          route.Time    `json:"from"`
	To            route.Time    `json:"to"`
	Name          *string       `json:"name" doc:"The name of the events, where only those of one are exported."`
	Masked        bool          `json:"masked" doc:"Personal fields are masked, since whoever asked for the export does not see them."`
	Status        export.Status `json:"status" doc:"withdrawn: a person of the environment was erased after the file was ready, so it is gone; ask again."`
	Progress      float64       `json:"progress" doc:"From 0 to 1."`
	Rows          uint64        `json:"rows" doc:"Rows that are collected."`
	Error         *string       `json:"error" doc:"Why the export failed: too_large or internal." enum:"too_large,internal"`
	CreatedAt     route.Time    `json:"createdAt"`
	CreatedBy     *author       `json:"createdBy"`
	EndedAt       *route.Time   `json:"endedAt"`
	ExpiresAt     *route.Time   `json:"expiresAt" doc:"When the file is removed."`
	URL           *string       `json:"url" doc:"Where the file is fetched, without credentials; in the answer for one export that is ready. null for callers who may not see what is in it, and for the assistant."`
	LinkExpiresAt *route.Time   `json:"linkExpiresAt" doc:"When the url ends to be good; ask again for another one."`
}

type author struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func exportOf(e *export.Export) exportJSON {
	row := exportJSON{
		ID: e.ID, Kind: e.Kind, Format: e.Format, Environment: e.Environment, From: route.Time(e.From), To: route.Time(e.To), Name: api.OrNull(e.Name), Masked: e.Masked,
		Status: e.Status, Progress: e.Progress, Rows: e.Rows, Error: api.OrNull(e.Problem), CreatedAt: route.Time(e.At), EndedAt: route.TimeOf(e.EndedAt),
	}
	if e.By.ID != "" {
		row.CreatedBy = &author{e.By.ID, e.By.Name}
	}
	if expires := e.ExpiresAt(); !expires.IsZero() {
		row.ExpiresAt = route.TimeOf(&expires)
	}
	return row
}

type listExports struct {
	api.AppPath
	api.Paging
}

func (e exports) list(ctx context.Context, call *route.Call, in listExports) (domain.Page[exportJSON], error) {
	all, err := e.Exports.Exports(ctx, call.Ref())
	if err != nil {
		return domain.Page[exportJSON]{}, err
	}
	after, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return domain.Page[exportJSON]{}, err
	}
	if after != nil {
		all = slices.DeleteFunc(all, func(one export.Export) bool { return one.ID >= after[0] })
	}
	more := len(all) > int(in.Limit)
	return route.PageOf(call, api.Convert(all[:min(len(all), int(in.Limit))], func(one *export.Export) exportJSON { return exportOf(one) }), more, func(last exportJSON) []string {
		return []string{last.ID}
	}), nil
}

type createExport struct {
	api.AppPath
	Env  api.Env    `query:"env" doc:"The environment's slug."`
	Body exportSpec `body:"json"`
}

// exportSpec is the body of POST …/exports.
type exportSpec struct {
	Kind   export.Kind   `json:"kind"`
	Format export.Format `json:"format" doc:"ndjson where it is absent."`
	From   *route.Time   `json:"from" doc:"Events since then, people who were seen since then; everything that is kept where it is absent."`
	To     *route.Time   `json:"to" doc:"Events before then, people who were first seen before then. If it is absent, everything that was accepted."`
	Name   string        `json:"name" doc:"Events of this name; all where it is absent."`
}

// Check applies the rules of exports.
func (c *createExport) Check(*route.Call) (problems []domain.FieldError) {
	if c.Body.Format == "" {
		c.Body.Format = export.NDJSON
	}
	if kinds := c.Body.Kind.Values(); !slices.Contains(kinds, c.Body.Kind) {
		problems = append(problems, api.UnknownWord("kind", "kind", string(c.Body.Kind), api.Words(kinds)))
	}
	if formats := c.Body.Format.Values(); !slices.Contains(formats, c.Body.Format) {
		problems = append(problems, api.UnknownWord("format", "format", string(c.Body.Format), api.Words(formats)))
	}
	if from, to := c.Body.From, c.Body.To; from != nil && to != nil && !time.Time(*from).Before(time.Time(*to)) {
		problems = append(problems, domain.FieldError{Field: "to", Code: "invalid_value", Message: "to must be after from."})
	}
	if c.Body.Name != "" && c.Body.Kind == export.People {
		problems = append(problems, domain.FieldError{Field: "name", Code: "invalid_value", Message: "Only events have a name."})
	}
	return problems
}

func (e exports) create(ctx context.Context, call *route.Call, in createExport) (exportJSON, error) {
	if err := mayRead(&call.App, &call.Grant, in.Body.Kind); err != nil {
		return exportJSON{}, err
	}
	now := call.Now.UTC().Truncate(time.Millisecond)
	one := export.Export{
		ID: e.NewID("exp_"), App: in.Env.App, Environment: in.Env.Slug, EnvironmentNumber: in.Env.Number, Kind: in.Body.Kind, Format: in.Body.Format, Name: in.Body.Name,
		From: time.UnixMilli(0).UTC(), To: now.Add(event.FutureTolerance), At: now, // an accepted event may be that far ahead
		Began: now, Status: export.Queued, Masked: !call.Grant.May(domain.PermPeoplePIIRead),
	}
	if in.Body.From != nil {
		one.From = time.Time(*in.Body.From).UTC()
	}
	if in.Body.To != nil {
		one.To = time.Time(*in.Body.To).UTC()
	}
	if user := call.Grant.Token.User; user != nil {
		one.By = domain.LedgerActor{ID: user.ID, Name: user.Name}
	}
	made, err := e.Exports.CreateExport(ctx, one)
	if err != nil {
		return exportJSON{}, err
	}
	call.About(made.ID)
	call.Created(fmt.Sprintf("/apps/%s/exports/%s", made.App, made.ID))
	return exportOf(&made), nil
}

// mayFetch reports whether a grant permits to download the file of an export.
func mayFetch(app *domain.Application, grant *domain.Grant, e *export.Export) bool {
	return app.Has(domain.ModuleAnalytics) && grant.May(domain.PermEventsRead) && mayRead(app, grant, e.Kind) == nil && (e.Masked || grant.May(domain.PermPeoplePIIRead))
}

// mayRead refuses callers that may not read the content of an export of a kind.
func mayRead(app *domain.Application, grant *domain.Grant, kind export.Kind) error {
	if kind != export.People {
		return nil
	}
	if !app.Has(domain.ModulePeople) {
		return &domain.Error{Code: domain.CodeModuleDisabled, Module: domain.ModulePeople, Message: "The application has the module people switched off."}
	}
	if !grant.May(domain.PermPeopleRead) {
		return &domain.Error{Code: domain.CodeForbidden, Required: &domain.Required{Permission: domain.PermPeopleRead}, Message: "An export of people needs people.read."}
	}
	return nil
}

type getExport struct {
	api.AppPath
	ID string `path:"id" doc:"The export's id."`
}

func (e exports) get(ctx context.Context, call *route.Call, in getExport) (exportJSON, error) {
	one, err := e.Exports.Export(ctx, call.Ref(), in.ID)
	if err != nil {
		return exportJSON{}, err
	}
	row := exportOf(&one)
	if person := call.Grant.Token.User; one.Status == export.Ready && person != nil && mayFetch(&call.App, &call.Grant, &one) && call.Grant.Token.Kind != domain.TokenAssistant {
		until := call.Now.Add(export.Link).Truncate(time.Second)
		if last := one.ExpiresAt(); last.Before(until) {
			until = last.Truncate(time.Second)
		}
		row.URL, row.LinkExpiresAt = new(call.Origin()+e.Links.path(&one, person.ID, until)), route.TimeOf(&until)
	}
	return row, nil
}
