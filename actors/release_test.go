package actors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
)

// TestReleasesOfAnOrganization leads releases through announcement, commits, deploys and lists.
func TestReleasesOfAnOrganization(t *testing.T) {
	announced := svc.ReleasePatch{Apps: []string{"web"}, URL: "https://acme.example"}
	first := svc.NewRelease("1", announced, at(0))
	second := svc.NewRelease("2", svc.ReleasePatch{Apps: []string{"api", "web"}}, at(time.Minute))
	finished := at(time.Hour)
	released := first.With(svc.ReleasePatch{ReleasedAt: &finished})
	commits := []svc.Commit{{ID: "b", Message: "two"}, {ID: "a", Message: "one"}}
	committed := released.With(svc.ReleasePatch{Commits: &commits})
	short := committed
	short.Commits = commits[:1]
	deploy := svc.Deploy{Environment: "production", FinishedAt: at(2 * time.Hour)}
	deployed, noted := committed.WithDeploy(deploy)
	shortDeployed := deployed
	shortDeployed.Commits = commits[:1]
	none, needsApp := svc.NotFound("release"), svc.Invalid(svc.FieldError{
		Field: "projects", Code: "required", Message: "A new release names the slug of at least one application.",
	})
	steps := []step{
		{name: "nothing", method: "get", message: findRelease{Version: "1"}, err: none},
		{name: "change nothing", method: "put", message: putRelease{Version: "1"}, err: none},
		{name: "of no application", method: "put", message: putRelease{Version: "1", Create: true}, err: needsApp},
		{name: "announce", method: "put", message: putRelease{Version: "1", Patch: announced, Create: true}, want: outcome{answer: putAnswer{first, true}, writes: []write{{"release", "1", first}}}},
		{name: "announce twice", after: time.Second, method: "put", message: putRelease{Version: "1", Patch: announced, Create: true}, want: outcome{answer: putAnswer{first, false}}},
		{
			name: "another", after: time.Minute, method: "put", message: putRelease{Version: "2", Patch: svc.ReleasePatch{Apps: []string{"web", "api", "web"}}, Create: true},
			want: outcome{answer: putAnswer{second, true}, writes: []write{{"release", "2", second}}},
		},
		{name: "finalize", method: "put", message: putRelease{Version: "1", Patch: svc.ReleasePatch{ReleasedAt: &finished}}, want: outcome{answer: putAnswer{released, false}, writes: []write{{"release", "1", released}}}},
		{name: "of another application", method: "put", message: putRelease{Version: "1", App: "api", Patch: announced}, err: none},
		{name: "none before", method: "previous", message: findRelease{Version: "2"}, want: outcome{answer: previousRelease{}}},
		{name: "commits", method: "put", message: putRelease{Version: "1", Patch: svc.ReleasePatch{Commits: &commits}}, want: outcome{answer: putAnswer{committed, false}, writes: []write{{"release", "1", committed}}}},
		{name: "one before", method: "previous", message: findRelease{Version: "2"}, want: outcome{answer: previousRelease{&short}}},
		{name: "none before the first", method: "previous", message: findRelease{Version: "1"}, want: outcome{answer: previousRelease{}}},
		{name: "deploy", method: "deploy", message: addDeploy{"1", deploy}, want: outcome{answer: noted, writes: []write{{"release", "1", deployed}}}},
		{name: "deploy twice", method: "deploy", message: addDeploy{"1", deploy}, want: outcome{answer: noted}},
		{name: "deploy nothing", method: "deploy", message: addDeploy{"3", deploy}, err: none},
		{name: "a page", method: "list", message: listReleases{Limit: 1}, want: outcome{answer: releaseList{[]svc.Release{second}, true}}},
		{name: "the next", method: "list", message: listReleases{Limit: 1, After: &second}, want: outcome{answer: releaseList{[]svc.Release{shortDeployed}, false}}},
		{name: "of an application", method: "list", message: listReleases{App: "api", Limit: 9}, want: outcome{answer: releaseList{[]svc.Release{second}, false}}},
		{name: "whole", method: "get", message: findRelease{Version: "1", App: "web"}, want: outcome{answer: deployed}},
		{name: "not of it", method: "get", message: findRelease{Version: "1", App: "api"}, err: none},
	}
	play(t, func() core {
		r := &releases{}
		if err := r.restore(nil); err != nil {
			t.Fatal(err)
		}
		return r
	}, true, steps)
}

// TestReleasesAreBounded announces more releases than are kept, and longer ones.
func TestReleasesAreBounded(t *testing.T) {
	r := &releases{}
	if err := r.restore(nil); err != nil {
		t.Fatal(err)
	}
	put := func(n int, patch svc.ReleasePatch) []write {
		t.Helper()
		patch.Apps = []string{"web"}
		payload, err := json.Marshal(putRelease{Version: fmt.Sprint(n), Patch: patch, Create: true})
		if err != nil {
			t.Fatal(err)
		}
		result, err := r.apply(at(time.Duration(n)*time.Second), "put", payload)
		if err != nil {
			t.Fatal(err)
		}
		return result.writes
	}
	for n := range svc.MaxReleases {
		if writes := put(n, svc.ReleasePatch{}); len(writes) != 1 {
			t.Fatalf("release %d wrote %v", n, writes)
		}
	}
	if writes := put(svc.MaxReleases, svc.ReleasePatch{}); len(writes) != 2 || writes[1] != (write{"release", "0", nil}) {
		t.Errorf("one too many wrote %v", writes)
	}
	commits := slices.Repeat([]svc.Commit{{ID: "a", Message: strings.Repeat("x", 5000)}}, 2*svc.MaxReleaseCommits)
	for n := range 2 * svc.MaxReleasesBytes / svc.MaxCommitsBytes {
		put(svc.MaxReleases+n, svc.ReleasePatch{Commits: &commits})
		size := 0
		for _, release := range r.releases {
			size += release.Bytes()
		}
		if size > svc.MaxReleasesBytes {
			t.Fatalf("%d releases have %d bytes", len(r.releases), size)
		}
	}
	if len(r.releases) < svc.MaxReleasesBytes/svc.MaxCommitsBytes-1 || len(r.releases) != len(r.bytes) {
		t.Errorf("%d releases are kept", len(r.releases))
	}
	if _, err := r.find("1", ""); svc.CodeOf(err) != svc.CodeNotFound {
		t.Errorf("the oldest is %v", err)
	}
}
