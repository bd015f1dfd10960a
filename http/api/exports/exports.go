package exports

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc"
	"svc/http/api"
	"svc/http/route"
)

// exports serves the routes of exports.
type exports struct{ Ports }

// export is one row of the list, and the answer of …/exports/{id}.
type export struct {
	ID            string           `json:"id"`
	Kind          svc.ExportKind   `json:"kind"`
	Format        svc.ExportFormat `json:"format"`
	Environment   string           `json:"environment"`
	From          route.Time       `json:"from"`
	To            route.Time       `json:"to"`
	Name          *string          `json:"name" doc:"The name of the events, where only those of one are exported."`
	Masked        bool             `json:"masked" doc:"Personal fields are masked, since whoever asked for the export does not see them."`
	Status        svc.ExportStatus `json:"status" doc:"withdrawn: a person of the environment was erased after the file was ready, so it is gone; ask again."`
	Progress      float64          `json:"progress" doc:"From 0 to 1."`
	Rows          uint64           `json:"rows" doc:"Rows that are collected."`
	Error         *string          `json:"error" doc:"Why the export failed: too_large or internal." enum:"too_large,internal"`
	CreatedAt     route.Time       `json:"createdAt"`
	CreatedBy     *author          `json:"createdBy"`
	EndedAt       *route.Time      `json:"endedAt"`
	ExpiresAt     *route.Time      `json:"expiresAt" doc:"When the file is removed."`
	URL           *string          `json:"url" doc:"Where the file is fetched, without credentials; in the answer for one export that is ready. null for callers who may not see what is in it, and for the assistant."`
	LinkExpiresAt *route.Time      `json:"linkExpiresAt" doc:"When the url ends to be good; ask again for another one."`
}

type author struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func exportOf(e *svc.Export) export {
	row := export{
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

func (e exports) list(ctx context.Context, call *route.Call, in listExports) (svc.Page[export], error) {
	all, err := e.Exports.Exports(ctx, call.Ref())
	if err != nil {
		return svc.Page[export]{}, err
	}
	after, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return svc.Page[export]{}, err
	}
	if after != nil {
		all = slices.DeleteFunc(all, func(one svc.Export) bool { return one.ID >= after[0] })
	}
	more := len(all) > int(in.Limit)
	return route.PageOf(call, api.Convert(all[:min(len(all), int(in.Limit))], func(one *svc.Export) export { return exportOf(one) }), more, func(last export) []string {
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
	Kind   svc.ExportKind   `json:"kind"`
	Format svc.ExportFormat `json:"format" doc:"ndjson where it is absent."`
	From   *route.Time      `json:"from" doc:"Events since then, people who were seen since then; everything that is kept where it is absent."`
	To     *route.Time      `json:"to" doc:"Events before then, people who were first seen before then. If it is absent, everything that was accepted."`
	Name   string           `json:"name" doc:"Events of this name; all where it is absent."`
}

// Check applies the rules of exports.
func (c *createExport) Check(*route.Call) (problems []svc.FieldError) {
	if c.Body.Format == "" {
		c.Body.Format = svc.ExportNDJSON
	}
	if kinds := c.Body.Kind.Values(); !slices.Contains(kinds, c.Body.Kind) {
		problems = append(problems, api.UnknownWord("kind", "kind", string(c.Body.Kind), api.Words(kinds)))
	}
	if formats := c.Body.Format.Values(); !slices.Contains(formats, c.Body.Format) {
		problems = append(problems, api.UnknownWord("format", "format", string(c.Body.Format), api.Words(formats)))
	}
	if from, to := c.Body.From, c.Body.To; from != nil && to != nil && !time.Time(*from).Before(time.Time(*to)) {
		problems = append(problems, svc.FieldError{Field: "to", Code: "invalid_value", Message: "to must be after from."})
	}
	if c.Body.Name != "" && c.Body.Kind == svc.ExportPeople {
		problems = append(problems, svc.FieldError{Field: "name", Code: "invalid_value", Message: "Only events have a name."})
	}
	return problems
}

func (e exports) create(ctx context.Context, call *route.Call, in createExport) (export, error) {
	if err := mayRead(&call.App, &call.Grant, in.Body.Kind); err != nil {
		return export{}, err
	}
	now := call.Now.UTC().Truncate(time.Millisecond)
	one := svc.Export{
		ID: e.NewID("exp_"), App: in.Env.App, Environment: in.Env.Slug, EnvironmentNumber: in.Env.Number, Kind: in.Body.Kind, Format: in.Body.Format, Name: in.Body.Name,
		From: time.UnixMilli(0).UTC(), To: now.Add(svc.FutureTolerance), At: now, // an accepted event may be that far ahead
		Began: now, Status: svc.ExportQueued, Masked: !call.Grant.May(svc.PermPeoplePIIRead),
	}
	if in.Body.From != nil {
		one.From = time.Time(*in.Body.From).UTC()
	}
	if in.Body.To != nil {
		one.To = time.Time(*in.Body.To).UTC()
	}
	if user := call.Grant.Token.User; user != nil {
		one.By = svc.LedgerActor{ID: user.ID, Name: user.Name}
	}
	made, err := e.Exports.CreateExport(ctx, one)
	if err != nil {
		return export{}, err
	}
	call.About(made.ID)
	call.Created(fmt.Sprintf("/apps/%s/exports/%s", made.App, made.ID))
	return exportOf(&made), nil
}

// mayFetch reports whether a grant permits to download the file of an export.
func mayFetch(app *svc.Application, grant *svc.Grant, e *svc.Export) bool {
	return app.Has(svc.ModuleAnalytics) && grant.May(svc.PermEventsRead) && mayRead(app, grant, e.Kind) == nil && (e.Masked || grant.May(svc.PermPeoplePIIRead))
}

// mayRead refuses callers that may not read the content of an export of a kind.
func mayRead(app *svc.Application, grant *svc.Grant, kind svc.ExportKind) error {
	if kind != svc.ExportPeople {
		return nil
	}
	if !app.Has(svc.ModulePeople) {
		return &svc.Error{Code: svc.CodeModuleDisabled, Module: svc.ModulePeople, Message: "The application has the module people switched off."}
	}
	if !grant.May(svc.PermPeopleRead) {
		return &svc.Error{Code: svc.CodeForbidden, Required: &svc.Required{Permission: svc.PermPeopleRead}, Message: "An export of people needs people.read."}
	}
	return nil
}

type getExport struct {
	api.AppPath
	ID string `path:"id" doc:"The export's id."`
}

func (e exports) get(ctx context.Context, call *route.Call, in getExport) (export, error) {
	one, err := e.Exports.Export(ctx, call.Ref(), in.ID)
	if err != nil {
		return export{}, err
	}
	row := exportOf(&one)
	if person := call.Grant.Token.User; one.Status == svc.ExportReady && person != nil && mayFetch(&call.App, &call.Grant, &one) && call.Grant.Token.Kind != svc.TokenAssistant {
		until := call.Now.Add(svc.ExportLink).Truncate(time.Second)
		if last := one.ExpiresAt(); last.Before(until) {
			until = last.Truncate(time.Second)
		}
		row.URL, row.LinkExpiresAt = new(call.Origin()+e.Links.path(&one, person.ID, until)), route.TimeOf(&until)
	}
	return row, nil
}
