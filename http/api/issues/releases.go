package issues

import (
	"context"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/issue"
	"svc/http/api"
	"svc/http/route"
)

// Artifacts reads the stored source maps.
type Artifacts interface {
	// Artifacts returns a page of the source maps of an application, the newest first, and whether more follow.
	Artifacts(ctx context.Context, query issue.ArtifactQuery) (page []issue.Artifact, more bool, err error)
	// Unmapped returns the frames of an environment's latest errors for which no map gave an original position.
	Unmapped(ctx context.Context, environment domain.Environment, now time.Time) ([]issue.UnmappedFrames, error)
}

// moreRoutes are the rows about several issues, their activity, releases and source maps.
func (e tracking) moreRoutes() []route.Route {
	return []route.Route{
		{
			Surface: route.Manage, Method: "PATCH", Path: "/apps/{org}/{app}/errors", Operation: "errors.updateMany", Module: domain.ModuleErrors, Scope: domain.ScopeWrite, Permission: domain.PermErrorsWrite, Effect: route.Write, Ledger: "issue.status_changed", Rate: domain.RateDefault,
			Summary: "Resolve, ignore, reopen or assign up to 200 issues", Handler: route.Typed(e.updateMany),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/releases", Operation: "errors.releases", Module: domain.ModuleErrors, Scope: domain.ScopeRead, Permission: domain.PermErrorsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Releases with new, regressed and resolved issues and crash-free sessions", Handler: route.Typed(e.releases),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/artifacts", Operation: "errors.artifacts", Module: domain.ModuleErrors, Scope: domain.ScopeRead, Permission: domain.PermErrorsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Source maps, and why frames were not mapped", Handler: route.Typed(e.listArtifacts),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/errors/{issueId}/comments", Operation: "errors.comment", Module: domain.ModuleErrors, Scope: domain.ScopeWrite, Permission: domain.PermErrorsWrite, Effect: route.Write, Ledger: "issue.commented", Status: 201, Rate: domain.RateDefault,
			Summary: "Comment an issue", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(e.comment),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/{issueId}/activity", Operation: "errors.activity", Module: domain.ModuleErrors, Scope: domain.ScopeRead, Permission: domain.PermErrorsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "What happened to an issue: status, assignee, comments, regressions, merges", Handler: route.Typed(e.activity),
		},
	}
}

type listReleases struct {
	api.AppPath
	api.Paging
	Env api.Env `query:"env" doc:"The environment's slug."`
	Q   string  `query:"q" doc:"Matches the release's name."`
}

// errorRelease is one row of …/errors/releases.
type errorRelease struct {
	Release           string     `json:"release"`
	FirstSeenAt       route.Time `json:"firstSeenAt"`
	LastSeenAt        route.Time `json:"lastSeenAt"`
	EventCount        uint64     `json:"eventCount"`
	IssueCount        uint64     `json:"issueCount" doc:"Issues that occurred in it."`
	NewIssues         uint64     `json:"newIssues" doc:"Issues that began with it."`
	RegressedIssues   uint64     `json:"regressedIssues" doc:"Issues that came back in it last."`
	ResolvedIssues    uint64     `json:"resolvedIssues" doc:"Issues that are resolved by it."`
	Sessions          uint64     `json:"sessions" doc:"Sessions of programs, as SDKs report them."`
	CrashedSessions   uint64     `json:"crashedSessions"`
	AbnormalSessions  uint64     `json:"abnormalSessions"`
	ErroredSessions   uint64     `json:"erroredSessions" doc:"Sessions with errors that did not crash."`
	CrashFreeSessions *float64   `json:"crashFreeSessions" doc:"0..1; null where no session is known."`
}

func releaseOf(r *issue.ErrorRelease) errorRelease {
	return errorRelease{
		Release: r.Release, FirstSeenAt: route.Time(r.FirstSeenAt), LastSeenAt: route.Time(r.LastSeenAt), EventCount: r.Events, IssueCount: r.Issues,
		NewIssues: r.NewIssues, RegressedIssues: r.RegressedIssues, ResolvedIssues: r.ResolvedIssues, Sessions: r.Sessions.Started,
		CrashedSessions: r.Sessions.Crashed, AbnormalSessions: r.Sessions.Abnormal, ErroredSessions: r.Sessions.Errored, CrashFreeSessions: r.Sessions.CrashFree(),
	}
}

// releasePage is the answer of …/errors/releases.
type releasePage struct {
	domain.Page[errorRelease]
	Environment string `json:"environment"`
}

// releases lists the releases in which errors or sessions occurred, the last seen first.
func (e tracking) releases(ctx context.Context, call *route.Call, in listReleases) (releasePage, error) {
	query := issue.ErrorReleasesQuery{Environment: in.Env.Environment, Search: in.Q, Limit: int(in.Limit)}
	seen, release, err := momentKey(call, in.Cursor)
	if err != nil {
		return releasePage{}, err
	}
	if release != nil {
		query.After = &issue.ErrorReleaseKey{LastSeenMs: seen, Release: *release}
	}
	rows, more, err := e.issues.Releases(ctx, query)
	if err != nil {
		return releasePage{}, err
	}
	page := route.PageOf(call, api.Convert(rows, releaseOf), more, func(errorRelease) []string {
		last := rows[len(rows)-1]
		return []string{strconv.FormatInt(last.LastSeenAt.UnixMilli(), 10), last.Release}
	})
	return releasePage{Page: page, Environment: in.Env.Slug}, nil
}

// momentKey reads the milliseconds and the word of a cursor; the word is nil without a cursor.
func momentKey(call *route.Call, cursor string) (ms int64, word *string, err error) {
	keyset, err := call.Keyset(cursor, 2)
	if keyset == nil || err != nil {
		return 0, nil, err
	}
	ms, err = strconv.ParseInt(keyset[0], 10, 64)
	if err != nil {
		return 0, nil, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	return ms, &keyset[1], nil
}

type listArtifacts struct {
	api.AppPath
	api.Paging
	Env     api.Env `query:"env" doc:"The environment's slug, for the frames that were not mapped."`
	Release string  `query:"release" doc:"Maps of the release."`
}

// artifact is one row of …/errors/artifacts.
type artifact struct {
	DebugID    *string    `json:"debugId" doc:"Of a map that is found by it."`
	Release    *string    `json:"release" doc:"Of a map that is found by its file in a release."`
	Dist       *string    `json:"dist"`
	File       *string    `json:"file" doc:"The minified file, for example ~/js/app.js."`
	Size       uint64     `json:"size" doc:"In bytes."`
	UploadedAt route.Time `json:"uploadedAt"`
}

func artifactOf(a *issue.Artifact) artifact {
	return artifact{
		DebugID: api.OrNull(a.DebugID), Release: api.OrNull(a.Release), Dist: api.OrNull(a.Dist), File: api.OrNull(a.File),
		Size: a.Bytes, UploadedAt: route.Time(a.UploadedAt),
	}
}

// unmappedFrames are frames of the latest errors without a known original position.
type unmappedFrames struct {
	Reason     string     `json:"reason"`
	File       string     `json:"file"`
	Release    *string    `json:"release"`
	Frames     uint64     `json:"frames" doc:"How many frames of the latest 2000 errors."`
	LastSeenAt route.Time `json:"lastSeenAt"`
}

// artifactPage is the answer of …/errors/artifacts.
type artifactPage struct {
	domain.Page[artifact]
	Unmapped    []unmappedFrames `json:"unmapped" doc:"Why frames of the latest errors were not mapped, the most frequent first."`
	Environment string           `json:"environment"`
}

// listArtifacts lists the application's source maps, the newest first, and the reasons why frames were not mapped.
func (e tracking) listArtifacts(ctx context.Context, call *route.Call, in listArtifacts) (artifactPage, error) {
	query := issue.ArtifactQuery{App: call.App.ID, Release: in.Release, Limit: int(in.Limit)}
	at, key, err := momentKey(call, in.Cursor)
	if err != nil {
		return artifactPage{}, err
	}
	if key != nil {
		query.After = &issue.ArtifactKey{UploadedMs: at, Key: *key}
	}
	rows, more, err := e.artifacts.Artifacts(ctx, query)
	if err != nil {
		return artifactPage{}, err
	}
	unmapped, err := e.artifacts.Unmapped(ctx, in.Env.Environment, call.Now)
	if err != nil {
		return artifactPage{}, err
	}
	page := route.PageOf(call, api.Convert(rows, artifactOf), more, func(artifact) []string {
		last := rows[len(rows)-1]
		return []string{strconv.FormatInt(last.UploadedAt.UnixMilli(), 10), last.Key}
	})
	return artifactPage{Page: page, Environment: in.Env.Slug, Unmapped: api.Convert(unmapped, func(u *issue.UnmappedFrames) unmappedFrames {
		return unmappedFrames{Reason: u.Reason, File: domain.MaskShapes(u.File), Release: api.OrNull(u.Release), Frames: u.Frames, LastSeenAt: route.Time(u.LastSeenAt)}
	})}, nil
}
