package main

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestAnnouncedReleasesAreThoseOfErrors announces releases whose names imply no order. The list counts the occurrences
// in each. An issue that was resolved in one of them does not regress in a release that was announced before, even
// though no error of either had occurred.
func TestAnnouncedReleasesAreThoseOfErrors(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	const releases = "/api/0/organizations/acme/releases/"
	for _, version := range []string{"azure", "blue", "green"} {
		if got := s.call("POST", releases, s.boot.Token, fmt.Appendf(nil, `{"version":%q,"projects":["web"]}`, version), nil); got.status != 201 {
			t.Fatalf("announcing %s: %d %s", version, got.status, got.body)
		}
	}
	occur := func(name, release string) {
		t.Helper()
		s.send(map[string]any{"type": "error", "name": name, "message": "broken", "release": release})
		s.settled()
	}
	occur("Fault", "blue")
	issue := s.issues(1)["Fault: broken"]["id"].(string)
	s.patch(issue, `{"status":"resolved","resolvedInRelease":"green"}`)
	occur("Fault", "azure")
	occur("Other", "azure")
	if status := s.get(errorsPath + "/" + issue)["status"]; status != "resolved" {
		t.Errorf("after an error of the release before the fix it is %v", status)
	}
	occur("Fault", "green")
	if status := s.get(errorsPath + "/" + issue)["status"]; status != "regressed" {
		t.Errorf("after an error of the release with the fix it is %v", status)
	}
	s.call("POST", releases, s.boot.Token, []byte(`{"version":"quiet","projects":["web"]}`), nil)
	var list []struct {
		Version               string
		NewGroups             int
		FirstEvent, LastEvent *string
	}
	got := s.call("GET", releases, s.boot.Token, nil, nil)
	if err := json.Unmarshal(got.body, &list); err != nil {
		t.Fatalf("%d %s: %v", got.status, got.body, err)
	}
	counts := map[string]int{}
	for _, release := range list {
		counts[release.Version] = release.NewGroups
		if occurred := release.FirstEvent != nil && release.LastEvent != nil; occurred == (release.Version == "quiet") {
			t.Errorf("%s: first %v, last %v", release.Version, release.FirstEvent, release.LastEvent)
		}
	}
	if want := map[string]int{"azure": 1, "blue": 1, "green": 0, "quiet": 0}; fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("new issues %v, want %v", counts, want)
	}
}
