package ingest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"svc/domain"
	"svc/domain/release"
	"svc/http/route"
)

// ReleaseBook stores the releases that build tools report.
type ReleaseBook interface {
	// PutRelease creates or changes a release, and reports whether it created it.
	PutRelease(ctx context.Context, org, version string, patch release.Patch) (release.Release, bool, error)
	// ChangeRelease fails with not_found if the release does not exist, or if app is set and the release does not
	// belong to it.
	ChangeRelease(ctx context.Context, org, app, version string, patch release.Patch) (release.Release, error)
	// Release returns a release; if app is not empty, the release must belong to that application.
	Release(ctx context.Context, org, app, version string) (release.Release, error)
	// Releases returns the releases that follow after, the newest first, with the first commit of each, and whether
	// more follow.
	Releases(ctx context.Context, org, app string, after *release.Release, limit int) ([]release.Release, bool, error)
	// PreviousRelease returns the newest earlier release of the same applications that has commits, nil if there is no
	// such release.
	PreviousRelease(ctx context.Context, org, version string) (*release.Release, error)
	// AddDeploy notes that a release was deployed to an environment.
	AddDeploy(ctx context.Context, org, version string, deploy release.Deploy) (release.Deploy, error)
}

// Releases accepts the reports of sentry-cli about releases, commits and deploys. It requires the same permission as
// the upload of source maps.
type Releases struct {
	// Uploads checks the tokens and stores the audit rows.
	Uploads *Uploads
	Book    ReleaseBook
	// Counts counts errors by release; nil counts none.
	Counts ReleaseCounts
}

// ReleaseCounts counts errors by release.
type ReleaseCounts interface {
	// ReleaseCounts returns the counts for releases of an organization, or of one of its applications; a release
	// without an error is missing.
	ReleaseCounts(ctx context.Context, org, app string, releases []string) (map[string]release.Count, error)
}

const (
	// maxReleaseBody bounds a request: commits include the names of their files, which are not stored.
	maxReleaseBody = 8 << 20
	maxReleasePage = 100
)

// releaseRow is a row of releases, without a prefix.
type releaseRow struct {
	method, path, operation, summary string
	shape                            route.Endpoint
	serve                            serveUpload
	// also is another successful status of the row.
	also int
}

// Routes returns the rows of releases, under the root, which sentry-cli requires, and under the prefix of the DSN.
func (s *Releases) Routes() []route.Route {
	var rows []route.Route
	for _, base := range [][2]string{{"", "releases"}, {"/sentry", "sentry.releases"}} {
		for _, given := range slices.Concat(s.orgRows(), s.projectRows()) {
			row := route.Route{
				Surface: route.Collect, Method: given.method, Path: base[0] + "/api/0/" + given.path, Operation: base[1] + "." + given.operation,
				Scope: domain.ScopeWrite, Permission: domain.PermErrorsWrite, Effect: route.Read, Summary: given.summary, Handler: given.shape, Also: given.also,
				Codes: []domain.Code{domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeForbidden, domain.CodeNotFound, domain.CodeTooLarge, domain.CodeUnavailable},
			}
			row.Raw = func(w *route.Response, r *http.Request) { s.Uploads.serve(w, r, row.Operation, given.serve) }
			if given.method != http.MethodGet {
				row.Effect = route.Write
			}
			if given.method == http.MethodPost {
				row.Status = http.StatusCreated
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// orgRows are the rows of an organization's releases.
func (s *Releases) orgRows() []releaseRow {
	const all, one = "organizations/{org}/releases", "organizations/{org}/releases/{version}"
	return []releaseRow{
		{"GET", all, "list", "List releases, the newest first.", route.Shape[orgReleases, []releaseAnswer](), s.list, 0},
		{"POST", all, "create", "Announce a release; 208 where it is known.", route.Shape[newOrgRelease, releaseAnswer](), s.create, http.StatusAlreadyReported},
		{"GET", one, "get", "Describe a release.", route.Shape[orgRelease, releaseAnswer](), s.get, 0},
		{"PUT", one, "change", "Finalize a release, or set its commits.", route.Shape[changeOrgRelease, releaseAnswer](), s.change, 0},
		{"GET", one + "/commits", "commits", "List a release's commits, the newest first.", route.Shape[orgRelease, []commitAnswer](), s.commits, 0},
		{"GET", one + "/previous-with-commits", "previous", "Find the earlier release after which commits are new; an empty object where there is none.", route.Shape[orgRelease, releaseAnswer](), s.previous, 0},
		{"GET", one + "/deploys", "deploys", "List a release's deploys, the newest first.", route.Shape[orgRelease, []deployAnswer](), s.deploys, 0},
		{"POST", one + "/deploys", "deploy", "Note that a release went to an environment.", route.Shape[newDeploy, deployAnswer](), s.deploy, 0},
		{"GET", "organizations/{org}/repos", "repos", "List connected repositories: there are none, so build tools send the commits themselves.", route.Shape[uploadPath, []repository](), s.repos, 0},
	}
}

// projectRows are the rows of an application's releases.
func (s *Releases) projectRows() []releaseRow {
	const all, one = "projects/{org}/{project}/releases", "projects/{org}/{project}/releases/{version}"
	return []releaseRow{
		{"GET", all, "listOfApp", "List an application's releases, the newest first.", route.Shape[projectReleases, []releaseAnswer](), s.list, 0},
		{"POST", all, "createOfApp", "Announce a release of an application; 208 where it is known.", route.Shape[newProjectRelease, releaseAnswer](), s.create, http.StatusAlreadyReported},
		{"GET", one, "getOfApp", "Describe a release of an application.", route.Shape[projectRelease, releaseAnswer](), s.get, 0},
		{"PUT", one, "changeOfApp", "Finalize a release of an application, or set its commits.", route.Shape[changeProjectRelease, releaseAnswer](), s.change, 0},
	}
}

// app returns the application in the path, "" if the path has none.
func (s *Releases) app(r *http.Request, up *upload) (string, error) {
	slug := r.PathValue("project")
	if slug == "" {
		return "", nil
	}
	_, err := s.Uploads.Applications.Get(r.Context(), domain.AppRef{Org: up.org, App: slug})
	if err == nil {
		up.app = slug
	}
	return slug, err
}

// read decodes a body within its bound, and within the memory that admission grants.
func (s *Releases) read(w *route.Response, r *http.Request, up *upload, into any) error {
	size := r.ContentLength
	if size < 0 || size > maxReleaseBody {
		size = maxReleaseBody
	}
	reserved := s.Uploads.Admission.Reserve("uploads " + up.org)
	defer reserved.Release()
	if err := reserved.ForWork(r.Context(), 2*size, false); err != nil { // This covers the body as it is read, and as it is decoded.
		return err
	}
	return readJSON(w, r, maxReleaseBody, into)
}

// patch returns the changes in a body, after it has found every application in the body.
func (s *Releases) patch(r *http.Request, up *upload, app string, spec *releaseSpec) (release.Patch, error) {
	patch := release.Patch{
		Apps: spec.Projects, Status: spec.Status, Ref: spec.Ref, URL: spec.URL, StartedAt: spec.DateStarted, ReleasedAt: spec.DateReleased, Commits: spec.commits(),
	}
	if problems := patch.Validate(); len(problems) > 0 {
		return patch, domain.Invalid(problems...)
	}
	for _, slug := range spec.Projects {
		if _, err := s.Uploads.Applications.Get(r.Context(), domain.AppRef{Org: up.org, App: slug}); err != nil {
			return patch, err
		}
	}
	if app != "" {
		patch.Apps = append(patch.Apps, app)
	}
	if len(patch.Apps) == 1 {
		up.app = patch.Apps[0]
	}
	return patch, nil
}

// releaseAsked is the release in a request.
type releaseAsked struct {
	app, version string // version is the version in the body.
	patch        release.Patch
}

// asked reads the body of a request that creates or changes a release.
func (s *Releases) asked(w *route.Response, r *http.Request, up *upload) (releaseAsked, error) {
	app, err := s.app(r, up)
	if err != nil {
		return releaseAsked{}, err
	}
	var spec releaseSpec
	if err := s.read(w, r, up, &spec); err != nil {
		return releaseAsked{}, err
	}
	patch, err := s.patch(r, up, app, &spec)
	return releaseAsked{app, spec.Version, patch}, err
}

func (s *Releases) create(w *route.Response, r *http.Request, up *upload) (any, error) {
	asked, err := s.asked(w, r, up)
	if err != nil {
		return nil, err
	}
	release, created, err := s.Book.PutRelease(r.Context(), up.org, asked.version, asked.patch)
	if err != nil {
		return nil, err
	}
	up.note = "release " + asked.version
	status := http.StatusAlreadyReported
	if created {
		status = http.StatusCreated
	}
	begin(w, status)
	return answerRelease(&release), nil
}

// begin writes the status of an answer other than 200.
func begin(w *route.Response, status int) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(status)
}

func (s *Releases) change(w *route.Response, r *http.Request, up *upload) (any, error) {
	asked, err := s.asked(w, r, up)
	if err != nil {
		return nil, err
	}
	version := r.PathValue("version")
	release, err := s.Book.ChangeRelease(r.Context(), up.org, asked.app, version, asked.patch)
	if err != nil {
		return nil, err
	}
	up.note = "release " + version
	return answerRelease(&release), nil
}

func (s *Releases) get(_ *route.Response, r *http.Request, up *upload) (any, error) {
	rel, err := s.find(r, up)
	if err != nil {
		return nil, err
	}
	answers, err := s.counted(r, up, []release.Release{rel})
	if err != nil {
		return nil, err
	}
	return answers[0], nil
}

// counted makes the answers of releases, with the number of errors in each.
func (s *Releases) counted(r *http.Request, up *upload, list []release.Release) ([]releaseAnswer, error) {
	versions := make([]string, len(list))
	for i := range list {
		versions[i] = list[i].Version
	}
	var counts map[string]release.Count
	if s.Counts != nil && len(list) > 0 {
		var err error
		if counts, err = s.Counts.ReleaseCounts(r.Context(), up.org, r.PathValue("project"), versions); err != nil {
			return nil, err
		}
	}
	answers := make([]releaseAnswer, 0, len(list))
	for i := range list {
		answer := answerRelease(&list[i])
		if count, occurred := counts[list[i].Version]; occurred {
			answer.NewGroups, answer.FirstEvent, answer.LastEvent = count.NewIssues, route.TimeOf(&count.FirstSeenAt), route.TimeOf(&count.LastSeenAt)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// find reads the release in the path.
func (s *Releases) find(r *http.Request, up *upload) (release.Release, error) {
	app, err := s.app(r, up)
	if err != nil {
		return release.Release{}, err
	}
	return s.Book.Release(r.Context(), up.org, app, r.PathValue("version"))
}

// list answers a page, and links to the next one like Sentry.
func (s *Releases) list(w *route.Response, r *http.Request, up *upload) (any, error) {
	app, err := s.app(r, up)
	if err != nil {
		return nil, err
	}
	after, err := parseReleaseCursor(r.URL.Query().Get("cursor"))
	if err != nil {
		return nil, err
	}
	limit, problem := domain.ParseLimit(r.URL.Query().Get("per_page"), maxReleasePage, maxReleasePage)
	if problem != nil {
		problem.Field = "per_page"
		return nil, domain.Invalid(*problem)
	}
	list, more, err := s.Book.Releases(r.Context(), up.org, app, after, limit)
	if err != nil {
		return nil, err
	}
	answers, err := s.counted(r, up, list)
	if err != nil {
		return nil, err
	}
	cursor := ""
	if more {
		cursor = releaseCursor(&list[len(list)-1])
	}
	next := url.URL{Path: r.URL.Path, RawQuery: url.Values{"cursor": {cursor}, "per_page": {strconv.Itoa(limit)}}.Encode()}
	w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"; results="%t"; cursor="%s"`, s.Uploads.PublicURL+next.String(), more, cursor))
	return answers, nil
}

func (s *Releases) commits(_ *route.Response, r *http.Request, up *upload) (any, error) {
	release, err := s.find(r, up)
	answers := make([]commitAnswer, 0, len(release.Commits))
	for i := range release.Commits {
		answers = append(answers, answerCommit(&release.Commits[i]))
	}
	return answers, err
}

func (s *Releases) previous(_ *route.Response, r *http.Request, up *upload) (any, error) {
	release, err := s.Book.PreviousRelease(r.Context(), up.org, r.PathValue("version"))
	if err != nil || release == nil {
		return struct{}{}, err // An empty object means that there is no previous release.
	}
	return answerRelease(release), nil
}

func (s *Releases) deploys(_ *route.Response, r *http.Request, up *upload) (any, error) {
	release, err := s.find(r, up)
	answers := make([]deployAnswer, 0, len(release.Deploys))
	for i := len(release.Deploys) - 1; i >= 0; i-- {
		answers = append(answers, answerDeploy(&release.Deploys[i]))
	}
	return answers, err
}

func (s *Releases) deploy(w *route.Response, r *http.Request, up *upload) (any, error) {
	var spec deploySpec
	if err := s.read(w, r, up, &spec); err != nil {
		return nil, err
	}
	version := r.PathValue("version")
	finished := s.Uploads.Now()
	if spec.DateFinished != nil {
		finished = *spec.DateFinished
	}
	deploy, err := s.Book.AddDeploy(r.Context(), up.org, version, release.Deploy{
		Environment: spec.Environment, Name: spec.Name, URL: spec.URL, StartedAt: spec.DateStarted, FinishedAt: finished,
	})
	if err != nil {
		return nil, err
	}
	up.note = "release " + version + " to " + spec.Environment
	begin(w, http.StatusCreated)
	return answerDeploy(&deploy), nil
}

// repos answers that no repository is connected; sentry-cli then reads commits from the local repository.
func (s *Releases) repos(*route.Response, *http.Request, *upload) (any, error) {
	return []repository{}, nil
}
