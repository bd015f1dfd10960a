package issues

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/release"
)

// TestReleasesOfAnOrganization takes releases through announcement, commits, deploys and lists.
func TestReleasesOfAnOrganization(t *testing.T) {
	announced := release.Patch{Apps: []string{"web"}, URL: "https://acme.example"}
	first := release.NewRelease("1", announced, actorstest.At(0))
	second := release.NewRelease("2", release.Patch{Apps: []string{"api", "web"}}, actorstest.At(time.Minute))
	finished := actorstest.At(time.Hour)
	released := first.With(release.Patch{ReleasedAt: &finished})
	commits := []release.Commit{{ID: "b", Message: "two"}, {ID: "a", Message: "one"}}
	committed := released.With(release.Patch{Commits: &commits})
	short := committed
	short.Commits = commits[:1]
	deploy := release.Deploy{Environment: "production", FinishedAt: actorstest.At(2 * time.Hour)}
	deployed, noted := committed.WithDeploy(deploy)
	shortDeployed := deployed
	shortDeployed.Commits = commits[:1]
	none, needsApp := domain.NotFound("release"), domain.Invalid(domain.FieldError{
		Field: "projects", Code: "required", Message: "A new release names the slug of at least one application.",
	})
	steps := []actorstest.Step{
		{Name: "nothing", Method: "get", Message: findRelease{Version: "1"}, Err: none},
		{Name: "change nothing", Method: "put", Message: putRelease{Version: "1"}, Err: none},
		{Name: "of no application", Method: "put", Message: putRelease{Version: "1", Create: true}, Err: needsApp},
		{Name: "announce", Method: "put", Message: putRelease{Version: "1", Patch: announced, Create: true}, Want: grain.Answer[any](putAnswer{first, true}, grain.Put("release", "1", first))},
		{Name: "announce twice", After: time.Second, Method: "put", Message: putRelease{Version: "1", Patch: announced, Create: true}, Want: grain.Answer[any](putAnswer{first, false})},
		{
			Name: "another", After: time.Minute, Method: "put", Message: putRelease{Version: "2", Patch: release.Patch{Apps: []string{"web", "api", "web"}}, Create: true},
			Want: grain.Answer[any](putAnswer{second, true}, grain.Put("release", "2", second)),
		},
		{Name: "finalize", Method: "put", Message: putRelease{Version: "1", Patch: release.Patch{ReleasedAt: &finished}}, Want: grain.Answer[any](putAnswer{released, false}, grain.Put("release", "1", released))},
		{Name: "of another application", Method: "put", Message: putRelease{Version: "1", App: "api", Patch: announced}, Err: none},
		{Name: "none before", Method: "previous", Message: findRelease{Version: "2"}, Want: grain.Answer[any](previousRelease{})},
		{Name: "commits", Method: "put", Message: putRelease{Version: "1", Patch: release.Patch{Commits: &commits}}, Want: grain.Answer[any](putAnswer{committed, false}, grain.Put("release", "1", committed))},
		{Name: "one before", Method: "previous", Message: findRelease{Version: "2"}, Want: grain.Answer[any](previousRelease{&short})},
		{Name: "none before the first", Method: "previous", Message: findRelease{Version: "1"}, Want: grain.Answer[any](previousRelease{})},
		{Name: "deploy", Method: "deploy", Message: addDeploy{"1", deploy}, Want: grain.Answer[any](noted, grain.Put("release", "1", deployed))},
		{Name: "deploy twice", Method: "deploy", Message: addDeploy{"1", deploy}, Want: grain.Answer[any](noted)},
		{Name: "deploy nothing", Method: "deploy", Message: addDeploy{"3", deploy}, Err: none},
		{Name: "a page", Method: "list", Message: listReleases{Limit: 1}, Want: grain.Answer[any](releaseList{[]release.Release{second}, true})},
		{Name: "the next", Method: "list", Message: listReleases{Limit: 1, After: &second}, Want: grain.Answer[any](releaseList{[]release.Release{shortDeployed}, false})},
		{Name: "of an application", Method: "list", Message: listReleases{App: "api", Limit: 9}, Want: grain.Answer[any](releaseList{[]release.Release{second}, false})},
		{Name: "whole", Method: "get", Message: findRelease{Version: "1", App: "web"}, Want: grain.Answer[any](deployed)},
		{Name: "not of it", Method: "get", Message: findRelease{Version: "1", App: "api"}, Err: none},
	}
	actorstest.Play(t, releasesKind, func() *releases {
		r := &releases{}
		if err := r.Restore(nil); err != nil {
			t.Fatal(err)
		}
		return r
	}, true, steps)
}

// TestReleasesAreBounded announces more releases than are retained, and longer ones.
func TestReleasesAreBounded(t *testing.T) {
	r := &releases{}
	if err := r.Restore(nil); err != nil {
		t.Fatal(err)
	}
	put := func(n int, patch release.Patch) []grain.Write {
		t.Helper()
		patch.Apps = []string{"web"}
		payload, err := json.Marshal(putRelease{Version: fmt.Sprint(n), Patch: patch, Create: true})
		if err != nil {
			t.Fatal(err)
		}
		result, err := releasesKind.Apply(r, actorstest.At(time.Duration(n)*time.Second), "put", payload)
		if err != nil {
			t.Fatal(err)
		}
		return result.Writes
	}
	for n := range release.MaxReleases {
		if writes := put(n, release.Patch{}); len(writes) != 1 {
			t.Fatalf("release %d wrote %v", n, writes)
		}
	}
	if writes := put(release.MaxReleases, release.Patch{}); len(writes) != 2 || writes[1] != grain.Delete("release", "0") {
		t.Errorf("one too many wrote %v", writes)
	}
	commits := slices.Repeat([]release.Commit{{ID: "a", Message: strings.Repeat("x", 5000)}}, 2*release.MaxReleaseCommits)
	for n := range 2 * release.MaxReleasesBytes / release.MaxCommitsBytes {
		put(release.MaxReleases+n, release.Patch{Commits: &commits})
		commits = release.BoundedCommits(commits) // the first release was cut to its bounds; the others have no more
		size := 0
		for _, release := range r.releases {
			size += release.Bytes()
		}
		if size > release.MaxReleasesBytes {
			t.Fatalf("%d releases have %d bytes", len(r.releases), size)
		}
	}
	if len(r.releases) < release.MaxReleasesBytes/release.MaxCommitsBytes-1 || len(r.releases) != len(r.bytes) {
		t.Errorf("%d releases are kept", len(r.releases))
	}
	if _, err := r.find("1", ""); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("the oldest is %v", err)
	}
}
