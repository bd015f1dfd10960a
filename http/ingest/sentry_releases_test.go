package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/release"
	"svc/http/ingest"
	"svc/http/route"
)

// book is an organization's releases by version.
type book map[string]release.Release

func (b book) PutRelease(_ context.Context, _, version string, patch release.Patch) (release.Release, bool, error) {
	before, known := b[version]
	if !known {
		before = release.NewRelease(version, patch, time.Unix(int64(len(b)), 0).UTC())
	}
	b[version] = before.With(patch)
	return b[version], !known, nil
}

func (b book) ChangeRelease(ctx context.Context, org, app, version string, patch release.Patch) (release.Release, error) {
	if _, err := b.Release(ctx, org, app, version); err != nil {
		return release.Release{}, err
	}
	release, _, err := b.PutRelease(ctx, org, version, patch)
	return release, err
}

func (b book) Release(_ context.Context, _, _, version string) (release.Release, error) {
	r, known := b[version]
	if !known {
		return release.Release{}, domain.NotFound("release")
	}
	return r, nil
}

func (b book) Releases(_ context.Context, _, _ string, after *release.Release, limit int) ([]release.Release, bool, error) {
	var list []release.Release
	for _, release := range b {
		if after == nil || release.CompareCreated(after) > 0 {
			list = append(list, release)
		}
	}
	slices.SortFunc(list, func(x, y release.Release) int { return x.CompareCreated(&y) })
	return list[:min(limit, len(list))], len(list) > limit, nil
}

func (b book) PreviousRelease(context.Context, string, string) (*release.Release, error) {
	return nil, nil
}

func (b book) AddDeploy(ctx context.Context, org, version string, deploy release.Deploy) (release.Deploy, error) {
	r, err := b.Release(ctx, org, "", version)
	if err != nil {
		return release.Deploy{}, err
	}
	b[version], deploy = r.WithDeploy(deploy)
	return deploy, nil
}

// TestReleasesAreGuardedAndAudited sends the permitted and the forbidden requests of sentry-cli, and checks answers and
// audit rows.
func TestReleasesAreGuardedAndAudited(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	d, kept := &depot{}, book{}
	now := func() time.Time { return noon }
	releases := &ingest.Releases{Uploads: ingest.NewUploads(d, d, d, now, "https://example.com"), Book: kept}
	handler, err := route.New(route.Config{
		Routes: releases.Routes(), Authority: d, Applications: d, Auditor: d,
		Cursors: domain.NewCursors([]byte("k")), Now: now, NewID: func(time.Time) string { return "ID" },
	})
	if err != nil {
		t.Fatal(err)
	}
	const org, web = "/api/0/organizations/acme/", "/sentry/api/0/projects/acme/web/"
	created := `{"version":"v+1","projects":["web"],"dateStarted":"2026-11-22T13:33:41.126863476Z"}`
	commits := `{"commits":[{"patch_set":[{"path":"f","type":"M"}],"repository":"origin","author_name":"A","author_email":"a@b.c","timestamp":"2026-11-22T13:33:41Z","message":"c3\n","id":"47b3"}]}`
	for _, c := range []struct {
		method, secret, path, body string
		status                     int
		part, detail               string // part is a text of the answer, detail the detail of the audit row.
	}{
		{"GET", "nobody", org + "releases/", "", 401, "", ""},
		{"GET", "reader", org + "releases/", "", 403, "errors.write", ""},
		{"POST", "reader", org + "releases/", created, 403, "errors.write", "forbidden"},
		{"GET", "writer", "/api/0/organizations/globex/releases/", "", 404, "", ""},
		{"GET", "writer", org + "releases/", "", 200, "[]", ""},
		{"POST", "writer", org + "releases/", `{"version":"1","projects":["moon"]}`, 404, "", "not_found"},
		{"POST", "writer", org + "releases/", `{`, 400, "", "invalid_request"},
		{"POST", "writer", org + "releases/", `{"version":"1","projects":["web"],"url":"javascript:x"}`, 400, `"url"`, "invalid_request"},
		{"POST", "writer", org + "releases/", `{"version":"` + strings.Repeat("x", 8<<20) + `"}`, 413, "", "payload_too_large"},
		{"POST", "writer", org + "releases/", created, 201, `"dateReleased":null`, "release v+1"},
		{"POST", "writer", web + "releases/", created, 208, `"slug":"web"`, "release v+1"},
		{"PUT", "writer", org + "releases/v+1/", `{"projects":["web"],"dateReleased":"2026-11-22T14:00:00Z"}`, 200, `"dateReleased":"2026-11-22T14:00:00.000Z"`, "release v+1"},
		{"PUT", "writer", org + "releases/9/", `{}`, 404, "release", "not_found"},
		{"PUT", "writer", web + "releases/v%2B1/", commits, 200, `"lastCommit":{"id":"47b3"`, "release v+1"},
		{"GET", "writer", org + "releases/v+1/commits/", "", 200, `"message":"c3"`, ""},
		{"PUT", "writer", org + "releases/v+1/", `{"refs":[{"repository":"acme/shop","commit":"abc","previousCommit":null}]}`, 200, `"repository":{"name":"acme/shop"}`, "release v+1"},
		{"GET", "writer", org + "releases/v+1/previous-with-commits/", "", 200, `{}`, ""},
		{"POST", "writer", org + "releases/v+1/deploys/", `{"environment":"production","name":null,"url":null,"dateStarted":null,"dateFinished":null}`, 201, `"dateFinished":"2026-11-20T12:00:00.000Z"`, "release v+1 to production"},
		{"GET", "writer", org + "releases/v+1/deploys/", "", 200, `"environment":"production"`, ""},
		{"GET", "writer", web + "releases/v+1/", "", 200, `"deployCount":1`, ""},
		{"GET", "writer", "/api/0/projects/acme/moon/releases/", "", 404, "", ""},
		{"GET", "writer", org + "repos/?cursor=", "", 200, "[]", ""},
		{"GET", "writer", org + "releases/?cursor=x", "", 400, "cursor", ""},
		{"GET", "writer", org + "releases/?per_page=0", "", 400, "per_page", ""},
	} {
		d.audit = nil
		request := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body))
		request.Header.Set("Authorization", "Bearer "+tokenOf(c.secret))
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if response.Code != c.status || !strings.Contains(response.Body.String(), c.part) {
			t.Fatalf("%s %s: %d %s, want %d with %s", c.method, c.path, response.Code, response.Body, c.status, c.part)
		}
		detail := ""
		for _, row := range d.audit {
			detail += row.Detail
			if row.Status != c.status || row.Org != "acme" {
				t.Errorf("%s %s leaves the audit row %+v", c.method, c.path, row)
			}
		}
		if detail != c.detail {
			t.Errorf("%s %s leaves the audit row %q, want %q", c.method, c.path, detail, c.detail)
		}
	}
}

// TestReleasesArePaged follows the links of a list to its end.
func TestReleasesArePaged(t *testing.T) {
	d, kept := &depot{}, book{}
	releases := &ingest.Releases{Uploads: ingest.NewUploads(d, d, d, time.Now, "https://example.com/"), Book: kept}
	handler, err := route.New(route.Config{
		Routes: releases.Routes(), Authority: d, Applications: d, Auditor: d,
		Cursors: domain.NewCursors([]byte("k")), Now: time.Now, NewID: func(time.Time) string { return "ID" },
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for n := range 7 {
		kept[fmt.Sprint(n)] = release.NewRelease(fmt.Sprint(n), release.Patch{}, time.Unix(int64(n/2), 0)) // Two releases have the same second.
		want = append(want, fmt.Sprint(6-n))
	}
	var got []string
	next := "https://example.com/api/0/projects/acme/web/releases/?per_page=3"
	for pages := 0; ; pages++ {
		request := httptest.NewRequestWithContext(t.Context(), "GET", next, nil)
		request.Header.Set("Authorization", "Bearer "+tokenOf("writer"))
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		var page []struct{ Version string }
		if err := json.Unmarshal(response.Body.Bytes(), &page); err != nil || pages > 3 {
			t.Fatalf("page %d: %v %s", pages, err, response.Body)
		}
		for _, release := range page {
			got = append(got, release.Version)
		}
		link := response.Header().Get("Link")
		if strings.Contains(link, `results="false"`) {
			break
		}
		address, rest, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		if next = address; !strings.HasPrefix(rest, `; rel="next"; results="true"; cursor="`) {
			t.Fatalf("the link is %s", link)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages have %v, want %v", got, want)
	}
}
