package issues

import (
	"context"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/http/api"
	"svc/http/route"
)

// Issues reads issues.
type Issues interface {
	// Issues returns a page of the issues of an environment.
	Issues(ctx context.Context, query issue.Query) (issue.List, error)
	// Issue returns one issue in full. For an issue that is part of another one, it returns that other one. It fails
	// with not_found if no issue of the environment has the number.
	Issue(ctx context.Context, scope issue.Scope) (issue.Detail, error)
	// FindIssue is Issue without series, releases and tags.
	FindIssue(ctx context.Context, environment domain.Environment, number uint64, now time.Time) (issue.Issue, error)
	// FindIssues returns the requested issues that the environment has. The key is the requested number, the value the
	// result of FindIssue.
	FindIssues(ctx context.Context, environment domain.Environment, numbers []uint64, now time.Time) (map[uint64]issue.Issue, error)
	// Releases returns a page of the releases of an environment, the last seen first, and whether more follow.
	Releases(ctx context.Context, query issue.ErrorReleasesQuery) (page []issue.ErrorRelease, more bool, err error)
	// ErrorsOverview returns the errors of a window.
	ErrorsOverview(ctx context.Context, query issue.ErrorsQuery) (issue.ErrorsOverview, error)
}

// IssueChanges changes issues. An issue is identified by the number of its environment and its own number.
type IssueChanges interface {
	// Change applies a member's valid patch to an issue.
	Change(ctx context.Context, environment, issue uint64, patch issue.Patch, by issue.Author) (issue.Change, error)
	// Comment adds a comment to an issue; it fails with conflict if the issue has too many.
	Comment(ctx context.Context, environment, issue uint64, text string, by issue.Author) (issue.Activity, error)
	// Activity returns entries of an issue's activity with a number below before, 0 for all, the newest first, and
	// whether more follow.
	Activity(ctx context.Context, environment, issue, before uint64, limit int) (page []issue.Activity, more bool, err error)
	// Merge makes an issue part of another one; it fails with conflict if either is merged with a third one.
	Merge(ctx context.Context, environment, root, part uint64, by issue.Author) error
	// Unmerge removes a part again; it fails with not_found if the issue is not part of another one.
	Unmerge(ctx context.Context, environment, root, part uint64, by issue.Author) error
}

// People reads the members that may be assigned to issues.
type People interface {
	// Members returns the members of an organization.
	Members(ctx context.Context, org string) ([]domain.Member, error)
}

// tracking serves the routes of error tracking.
type tracking struct {
	issues      Issues
	occurrences Occurrences
	changes     IssueChanges
	members     People
	artifacts   Artifacts
}

func errorRoutes(ports Ports) []route.Route {
	tracking := tracking{issues: ports.Issues, occurrences: ports.Occurrences, changes: ports.Changes, members: ports.People, artifacts: ports.Artifacts}
	return append([]route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors", Operation: "errors.list", Module: domain.ModuleErrors, Scope: domain.ScopeRead, Permission: domain.PermErrorsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "List issues", Handler: route.Typed(tracking.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/overview", Operation: "errors.overview", Module: domain.ModuleErrors, Scope: domain.ScopeRead, Permission: domain.PermErrorsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Counts and noisiest issues in a range", Handler: route.Typed(tracking.overview),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/{issueId}", Operation: "errors.get", Module: domain.ModuleErrors, Scope: domain.ScopeRead, Permission: domain.PermErrorsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "One issue in full", Handler: route.Typed(tracking.get),
		},
		{
			Surface: route.Manage, Method: "PATCH", Path: "/apps/{org}/{app}/errors/{issueId}", Operation: "errors.update", Module: domain.ModuleErrors, Scope: domain.ScopeWrite, Permission: domain.PermErrorsWrite, Effect: route.Write, Ledger: "issue.status_changed", Rate: domain.RateDefault,
			Summary: "Resolve, ignore, reopen or assign an issue", Handler: route.Typed(tracking.update),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/{issueId}/events", Operation: "errors.events", Module: domain.ModuleErrors, Scope: domain.ScopeRead, Permission: domain.PermErrorsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Occurrences of an issue, newest first", Handler: route.Typed(tracking.events),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/{issueId}/events/{eventId}", Operation: "errors.event", Module: domain.ModuleErrors, Scope: domain.ScopeRead, Permission: domain.PermErrorsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "One occurrence in full", Handler: route.Typed(tracking.event),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/errors/{issueId}/merge", Operation: "console.errors.merge", Module: domain.ModuleErrors, Scope: domain.ScopeWrite, Permission: domain.PermErrorsWrite, Effect: route.Write, Unrecorded: "the issues themselves show what was merged", Rate: domain.RateDefault,
			Summary: "Make issues part of another one", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(tracking.merge),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/errors/{issueId}/unmerge", Operation: "console.errors.unmerge", Module: domain.ModuleErrors, Scope: domain.ScopeWrite, Permission: domain.PermErrorsWrite, Effect: route.Write, Unrecorded: "the issues themselves show what was merged", Rate: domain.RateDefault,
			Summary: "Take issues out of another one", Handler: route.Typed(tracking.unmerge),
		},
	}, tracking.moreRoutes()...)
}

// issueJSON is one row of the list.
type issueJSON struct {
	ID           string           `json:"id"`
	Fingerprint  string           `json:"fingerprint"`
	Title        string           `json:"title" observed:"true"`
	Culprit      *string          `json:"culprit" observed:"true"`
	Level        occurrence.Level `json:"level" observed:"true"`
	Status       issue.Status     `json:"status"`
	FirstSeenAt  route.Time       `json:"firstSeenAt" observed:"true"`
	LastSeenAt   route.Time       `json:"lastSeenAt" observed:"true"`
	EventCount   uint64           `json:"eventCount" observed:"true"`
	UserCount    uint64           `json:"userCount" observed:"true"`
	ReleaseFirst *string          `json:"releaseFirst" observed:"true"`
	ReleaseLast  *string          `json:"releaseLast" observed:"true"`
	Spark        []uint64         `json:"spark" observed:"true" doc:"Occurrences of each of the last seven days, the oldest first."`
}

func issueOf(i *issue.Issue) issueJSON {
	return issueJSON{
		ID: i.ID, Fingerprint: i.Fingerprint, Title: i.Title, Culprit: api.OrNull(i.Culprit), Level: i.Level, Status: i.Status,
		FirstSeenAt: route.Time(i.FirstSeenAt), LastSeenAt: route.Time(i.LastSeenAt), EventCount: i.Events, UserCount: i.Users,
		ReleaseFirst: api.OrNull(i.ReleaseFirst), ReleaseLast: api.OrNull(i.ReleaseLast), Spark: append([]uint64{}, i.Spark...),
	}
}

// maskedIssue returns an issue for a caller that may not see e-mail-like values.
func maskedIssue(i *issue.Issue) issueJSON {
	i.Mask()
	return issueOf(i)
}

// shownIssue returns the function that makes the answer of an issue for the caller.
func shownIssue(call *route.Call) func(*issue.Issue) issueJSON {
	if call.Grant.May(domain.PermPeoplePIIRead) {
		return issueOf
	}
	return maskedIssue
}

type listIssues struct {
	api.AppPath
	api.Paging
	Env     api.Env     `query:"env" doc:"The environment's slug."`
	Status  issueStatus `query:"status" doc:""`
	Q       string      `query:"q" doc:"Matches name, message and culprit."`
	Release string      `query:"release" doc:"Issues that occurred in the release."`
	Sort    issueSort   `query:"sort" doc:"The highest first."`
}

// issuePage is the answer of …/errors.
type issuePage struct {
	domain.Page[issueJSON]
	Counts      issue.Counts `json:"counts" doc:"Issues of the environment by status, whatever the query selects."`
	Environment string       `json:"environment"`
}

func (e tracking) list(ctx context.Context, call *route.Call, in listIssues) (issuePage, error) {
	query := issue.Query{
		Environment: in.Env.Environment, Status: issue.Status(in.Status), Search: in.Q, SearchMasked: !call.Grant.May(domain.PermPeoplePIIRead),
		Release: in.Release, Sort: issue.Sort(in.Sort), Limit: int(in.Limit),
		Days: issue.LastDays(call.Now, issue.SparkDays, call.App.Location()), Now: call.Now,
	}
	var err error
	if query.After, err = issueKey(call, in.Cursor); err != nil {
		return issuePage{}, err
	}
	list, err := e.issues.Issues(ctx, query)
	if err != nil {
		return issuePage{}, err
	}
	var last issue.Key
	if len(list.Rows) > 0 {
		last = list.Rows[len(list.Rows)-1].Key
	}
	page := route.PageOf(call, api.Convert(list.Rows, shownIssue(call)), list.More, func(issueJSON) []string {
		return []string{strconv.FormatInt(last.Value, 10), strconv.FormatUint(last.Number, 10)}
	})
	return issuePage{Page: page, Counts: list.Counts, Environment: in.Env.Slug}, nil
}

// issueKey reads the position of a cursor in the list.
func issueKey(call *route.Call, cursor string) (*issue.Key, error) {
	keyset, err := call.Keyset(cursor, 2)
	if keyset == nil || err != nil {
		return nil, err
	}
	value, badValue := strconv.ParseInt(keyset[0], 10, 64)
	number, badNumber := strconv.ParseUint(keyset[1], 10, 64)
	if badValue != nil || badNumber != nil {
		return nil, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	return &issue.Key{Value: value, Number: number}, nil
}

type getErrorsOverview struct {
	api.AppPath
	Env   api.Env     `query:"env" doc:"The environment's slug."`
	Range errorWindow `query:"range" doc:"The span of time; it ends now."`
}

// errorTotals are the numbers of a window.
type errorTotals struct {
	Events uint64 `json:"events"`
	Issues uint64 `json:"issues" doc:"Distinct issues."`
	Users  uint64 `json:"users" doc:"Distinct users."`
}

// errorDelta contains the changes as percentages; null if the window before was zero.
type errorDelta struct {
	Events *float64 `json:"events"`
	Issues *float64 `json:"issues"`
	Users  *float64 `json:"users"`
}

// errorDay is one day of a series.
type errorDay struct {
	T      route.Time `json:"t"`
	Events uint64     `json:"events"`
	Users  uint64     `json:"users"`
}

// errorRange is a span of time with the word of its parameter.
type errorRange struct {
	From route.Time `json:"from"`
	To   route.Time `json:"to"`
	Key  string     `json:"key"`
}

// errorsOverview is the answer of …/errors/overview (contract 79).
type errorsOverview struct {
	Range           errorRange  `json:"range"`
	Totals          errorTotals `json:"totals"`
	Previous        errorTotals `json:"previous" doc:"The equally long window immediately before."`
	Delta           errorDelta  `json:"delta"`
	Series          []errorDay  `json:"series"`
	NewIssues       uint64      `json:"newIssues" doc:"Issues first seen in the range."`
	RegressedIssues uint64      `json:"regressedIssues" doc:"Issues that came back in the range."`
	Noisiest        []issueJSON `json:"noisiest"`
	Environment     string      `json:"environment"`
}

func (e tracking) overview(ctx context.Context, call *route.Call, in getErrorsOverview) (errorsOverview, error) {
	result, err := e.issues.ErrorsOverview(ctx, issue.ErrorsQuery{
		Environment: in.Env.Environment, Window: in.Range.Window, Buckets: in.Range.Buckets(domain.Day),
		Days: issue.LastDays(call.Now, issue.SparkDays, call.App.Location()), Now: call.Now,
	})
	if err != nil {
		return errorsOverview{}, err
	}
	now, before := result.Totals, result.Previous
	delta := func(now, before uint64) *float64 { return domain.Delta(float64(now), float64(before)) }
	return errorsOverview{
		Range:  errorRange{From: route.Time(in.Range.From), To: route.Time(in.Range.To), Key: in.Range.Key},
		Totals: errorTotals(now), Previous: errorTotals(before),
		Delta:  errorDelta{Events: delta(now.Events, before.Events), Issues: delta(now.Issues, before.Issues), Users: delta(now.Users, before.Users)},
		Series: api.Convert(result.Series, errorDayOf), NewIssues: result.NewIssues, RegressedIssues: result.RegressedIssues,
		Noisiest: api.Convert(result.Noisiest, shownIssue(call)), Environment: in.Env.Slug,
	}, nil
}

func errorDayOf(d *issue.Day) errorDay {
	return errorDay{T: route.Time(d.T), Events: d.Events, Users: d.Users}
}
