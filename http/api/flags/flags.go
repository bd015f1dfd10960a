package flags

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/flag"
	"svc/http/api"
	"svc/http/route"
)

// Flags stores the flags of applications.
type Flags interface {
	// List returns all flags of an application, including archived ones.
	List(ctx context.Context, ref domain.AppRef) ([]flag.Flag, error)
	// Get fails with not_found if no flag has the key.
	Get(ctx context.Context, ref domain.AppRef, key string) (flag.Flag, error)
	// Put creates or replaces a flag by a valid definition; with ifMatch only if the flag has that version. action
	// describes the change.
	Put(ctx context.Context, ref domain.AppRef, key string, spec *flag.Spec, ifMatch *uint64, by domain.LedgerActor) (flag flag.Flag, action string, err error)
	// Archive ends the evaluation of a flag. It fails with conflict if the flag is archived already.
	Archive(ctx context.Context, ref domain.AppRef, key string, ifMatch *uint64, by domain.LedgerActor) (flag.Flag, error)
	// History returns the versions of a flag, the newest first.
	History(ctx context.Context, ref domain.AppRef, key string) ([]flag.Change, error)
}

// Readings reads the counts of flag evaluations.
type Readings interface {
	// FlagReadings returns the counts for the flags of an environment, by key.
	FlagReadings(ctx context.Context, environment uint64, now time.Time) (map[string]flag.Reading, error)
}

// flags serves the routes of flags.
type flags struct {
	flags    Flags
	readings Readings
}

func flagRoutes(ports Ports) []route.Route {
	f := flags{ports.Flags, ports.Readings}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/flags", Operation: "flags.list", Module: domain.ModuleFlags, Scope: domain.ScopeRead, Permission: domain.PermFlagsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List flags", Handler: route.Typed(f.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/flags/{key}", Operation: "flags.get", Module: domain.ModuleFlags, Scope: domain.ScopeRead, Permission: domain.PermFlagsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "One flag; its ETag is for If-Match", Handler: route.Typed(f.get),
		},
		{
			Surface: route.Manage, Method: "PUT", Path: "/apps/{org}/{app}/flags/{key}", Operation: "flags.put", Module: domain.ModuleFlags, Scope: domain.ScopeWrite, Permission: domain.PermFlagsWrite, Effect: route.Destructive, Ledger: "flag.updated", Rate: domain.RateDefault,
			Summary: "Create a flag, or replace its whole definition; an archived one is restored", Status: 200, Also: 201, Codes: []domain.Code{domain.CodePrecondition}, Handler: route.Typed(f.put),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/flags/{key}", Operation: "flags.archive", Module: domain.ModuleFlags, Scope: domain.ScopeWrite, Permission: domain.PermFlagsWrite, Effect: route.Destructive, Ledger: "flag.archived", Rate: domain.RateDefault,
			Summary: "Archive a flag: its evaluation ends, its history is kept", Codes: []domain.Code{domain.CodeConflict, domain.CodePrecondition}, Handler: route.Typed(f.archive),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/flags/{key}/history", Operation: "flags.history", Module: domain.ModuleFlags, Scope: domain.ScopeRead, Permission: domain.PermFlagsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "The versions of a flag: who, when, before and after", Handler: route.Typed(f.history),
		},
	}
}

// switchState is the state of a flag in one environment.
type switchState struct {
	Enabled        bool        `json:"enabled"`
	RolloutPercent float64     `json:"rolloutPercent"`
	StartAt        *route.Time `json:"startAt,omitempty"`
	EndAt          *route.Time `json:"endAt,omitempty"`
}

// flagDefinition shows the part of a flag that members write.
type flagDefinition struct {
	Name          string                 `json:"name"`
	Description   string                 `json:"description"`
	Kind          flag.Kind              `json:"kind"`
	Variants      []flag.Variant         `json:"variants"`
	Rules         []flag.Rule            `json:"rules"`
	Environments  map[string]switchState `json:"environments" doc:"Every environment of the application by its slug."`
	BucketBy      string                 `json:"bucketBy"`
	Prerequisites []flag.Prerequisite    `json:"prerequisites"`
}

// definitionOf shows a definition with all environments of an application.
func definitionOf(app *domain.Application, spec *flag.Spec) flagDefinition {
	shown := flagDefinition{
		Name: spec.Name, Description: spec.Description, Kind: spec.Kind, Variants: spec.Variants, Rules: spec.Rules, BucketBy: spec.BucketBy, Prerequisites: spec.Prerequisites,
		Environments: map[string]switchState{},
	}
	for _, environment := range app.Environments {
		state := spec.SwitchOf(environment.Slug)
		shown.Environments[environment.Slug] = switchState{state.Enabled, state.Rollout(), route.TimeOf(state.StartAt), route.TimeOf(state.EndAt)}
	}
	return shown
}

// flagJSON is a flag as answers show it.
type flagJSON struct {
	Key string `json:"key"`
	flagDefinition
	Archived  bool       `json:"archived"`
	Version   uint64     `json:"version" doc:"Counts the changes of the flag; it is the ETag."`
	CreatedAt route.Time `json:"createdAt"`
	UpdatedAt route.Time `json:"updatedAt"`
}

func flagOf(app *domain.Application, f *flag.Flag) flagJSON {
	return flagJSON{f.Key, definitionOf(app, &f.Spec), f.Archived, f.Version, route.Time(f.CreatedAt), route.Time(f.UpdatedAt)}
}

// flagRow is a flag in a list.
type flagRow struct {
	flagJSON
	Spark           []uint64    `json:"spark" observed:"true" doc:"Evaluations of each of the last seven days in the environment, the oldest first."`
	LastEvaluatedAt *route.Time `json:"lastEvaluatedAt" observed:"true" doc:"The last day with an evaluation, of the last 30."`
	Stale           *string     `json:"stale" observed:"true" doc:"unused: not evaluated for 30 days. settled: everyone was served one variant for 30 days." enum:"unused,settled"`
}

type listFlags struct {
	api.AppPath
	api.Paging
	Env             api.Env `query:"env" doc:"The environment whose evaluations are shown."`
	IncludeArchived bool    `query:"includeArchived" doc:"true lists the archived flags as well."`
	Q               string  `query:"q" doc:"Flags whose key, name or description holds the text, in any case."`
}

// flagPage is the answer of …/flags.
type flagPage struct {
	domain.Page[flagRow]
	Environment string `json:"environment"`
}

func (f flags) list(ctx context.Context, call *route.Call, in listFlags) (flagPage, error) {
	all, err := f.flags.List(ctx, call.Ref())
	if err != nil {
		return flagPage{}, err
	}
	text := strings.ToLower(in.Q)
	all = slices.DeleteFunc(all, func(one flag.Flag) bool {
		found := strings.Contains(one.Key, text) || strings.Contains(strings.ToLower(one.Name), text) || strings.Contains(strings.ToLower(one.Description), text)
		return one.Archived && !in.IncludeArchived || !found
	})
	readings, err := f.readings.FlagReadings(ctx, in.Env.Number, call.Now)
	if err != nil {
		return flagPage{}, err
	}
	rows := api.Convert(all, func(one *flag.Flag) flagRow {
		reading := readings[one.Key]
		row := flagRow{flagJSON: flagOf(&call.App, one), Spark: reading.Spark[:], Stale: api.OrNull(reading.Stale(one, call.Now))}
		if !reading.LastEvaluatedAt.IsZero() {
			row.LastEvaluatedAt = route.TimeOf(&reading.LastEvaluatedAt)
		}
		return row
	})
	page, err := api.PageOfAll(call, rows, in.Paging, func(row flagRow) string { return row.Key })
	return flagPage{page, in.Env.Slug}, err
}

// flagPath is the address of a flag in a path.
type flagPath struct {
	api.AppPath
	Key string `path:"key" doc:"The flag's key."`
}

func (f flags) get(ctx context.Context, call *route.Call, in flagPath) (flagJSON, error) {
	found, err := f.flags.Get(ctx, call.Ref(), in.Key)
	if err != nil {
		return flagJSON{}, err
	}
	call.Tag(found.Version)
	return flagOf(&call.App, &found), nil
}

type putFlag struct {
	flagPath
	Body flag.Spec `body:"json"`
}

// Check applies the rules of flags that do not depend on other flags.
func (p *putFlag) Check(call *route.Call) []domain.FieldError {
	problems := p.Body.Validate(environments(&call.App))
	if problem := flag.CheckFlagKey(call.Param("key")); problem != nil {
		problems = append([]domain.FieldError{*problem}, problems...)
	}
	return problems
}

func environments(app *domain.Application) (slugs []string) {
	for _, environment := range app.Environments {
		slugs = append(slugs, environment.Slug)
	}
	return slugs
}

// present returns the version that the caller requires, nil if it requires none; zero means that the flag must not
// exist.
func (f flags) present(ctx context.Context, call *route.Call, key string) (*uint64, error) {
	found, err := f.flags.Get(ctx, call.Ref(), key)
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return nil, err
	}
	return call.IfMatch(found.Version)
}

func (f flags) put(ctx context.Context, call *route.Call, in putFlag) (flagJSON, error) {
	ifMatch, err := f.present(ctx, call, in.Key)
	if err != nil {
		return flagJSON{}, err
	}
	in.Body.Normalise()
	changed, action, err := f.flags.Put(ctx, call.Ref(), in.Key, &in.Body, ifMatch, actorOf(call))
	if err != nil {
		return flagJSON{}, err
	}
	switch action {
	case flag.Created:
		call.Answer(http.StatusCreated)
		call.Created("/apps/" + call.Ref().String() + "/flags/" + changed.Key)
	case flag.Restored:
		call.Happened("flag.restored")
	}
	call.About(changed.Key)
	call.Tag(changed.Version)
	return flagOf(&call.App, &changed), nil
}

func (f flags) archive(ctx context.Context, call *route.Call, in flagPath) (flagJSON, error) {
	ifMatch, err := f.present(ctx, call, in.Key)
	if err != nil {
		return flagJSON{}, err
	}
	changed, err := f.flags.Archive(ctx, call.Ref(), in.Key, ifMatch, actorOf(call))
	if err != nil {
		return flagJSON{}, err
	}
	call.About(changed.Key)
	call.Tag(changed.Version)
	return flagOf(&call.App, &changed), nil
}

// actorOf returns the member that makes a call.
func actorOf(call *route.Call) domain.LedgerActor {
	if user := call.Grant.Token.User; user != nil {
		return domain.LedgerActor{ID: user.ID, Name: user.Name}
	}
	return domain.LedgerActor{}
}

// flagChange is one version of a flag.
type flagChange struct {
	Version  uint64             `json:"version"`
	At       route.Time         `json:"at"`
	By       domain.LedgerActor `json:"by"`
	Action   string             `json:"action" enum:"created,updated,archived,restored"`
	Restored bool               `json:"restored" doc:"Whether the change brought an archived flag back."`
	Before   *flagDefinition    `json:"before" doc:"The definition before; null for the first version."`
	After    flagDefinition     `json:"after"`
}

type flagHistory struct {
	flagPath
	api.Paging
}

func (f flags) history(ctx context.Context, call *route.Call, in flagHistory) (domain.Page[flagChange], error) {
	changes, err := f.flags.History(ctx, call.Ref(), in.Key)
	if err != nil {
		return domain.Page[flagChange]{}, err
	}
	keyset, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return domain.Page[flagChange]{}, err
	}
	if keyset != nil {
		changes = slices.DeleteFunc(changes, func(c flag.Change) bool { return versionKey(c.Version) >= keyset[0] })
	}
	limit := min(int(in.Limit), len(changes))
	rows := api.Convert(changes[:limit], func(c *flag.Change) flagChange {
		shown := flagChange{Version: c.Version, At: route.Time(c.At), By: c.By, Action: c.Action, Restored: c.Action == flag.Restored, After: definitionOf(&call.App, &c.After)}
		if c.Before != nil {
			before := definitionOf(&call.App, c.Before)
			shown.Before = &before
		}
		return shown
	})
	return route.PageOf(call, rows, len(changes) > limit, func(last flagChange) []string { return []string{versionKey(last.Version)} }), nil
}
