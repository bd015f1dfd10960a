package issues

import (
	"context"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain/release"
)

// occurredReleases holds the times of the first errors of releases.
type occurredReleases map[string]time.Time

func (o occurredReleases) FirstSeen(context.Context, uint64, []string) (map[string]time.Time, error) {
	known := map[string]time.Time{}
	for version, at := range o {
		known[version] = at
	}
	return known, nil
}

// TestReleasesAreAsOldAsTheirFirstSight announces a release between the first errors of two.
func TestReleasesAreAsOldAsTheirFirstSight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := func() time.Time { return time.Now().UTC().Round(0) }
		node := &grain.Node{Store: actorstest.NewStore(), Workers: grain.NewWorkers(), Now: clock, Logger: slog.New(slog.DiscardHandler)}
		announced := &Releases{Actors: actorstest.NewHost(t, Kinds(node, &ResolvedSet{})...)}
		before := clock().Add(-time.Hour)
		for _, version := range []string{"1", "2", "3"} {
			if _, _, err := announced.PutRelease(t.Context(), "acme", version, release.Patch{Apps: []string{"web"}}); err != nil {
				t.Fatal(err)
			}
		}
		now, later := clock(), clock().Add(time.Hour)
		stored := occurredReleases{"1": before, "2": later, "4": later}
		orgs := map[uint64]string{7: "acme"}
		times := &ReleaseTimes{Store: stored, Announced: announced, Org: func(environment uint64) string { return orgs[environment] }}
		for environment, want := range map[uint64]map[string]time.Time{
			7: {"1": before, "2": now, "3": now, "4": later},
			8: stored,
		} {
			got, err := times.FirstSeen(t.Context(), environment, []string{"1", "2", "3", "4"})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("environment %d: %v, %v; want %v", environment, got, err, want)
			}
		}
	})
}
