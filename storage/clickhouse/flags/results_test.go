package flags

import (
	"reflect"
	"testing"
	"time"

	"github.com/go-faster/city"

	"svc/domain/flag"
	"svc/domain/goal"
)

// TestResultsOfASharedDevice has a device that belongs to Ada until Bert identifies himself on it, and that was served
// a variant before. An event on it counts for its owner at the time.
func TestResultsOfASharedDevice(t *testing.T) {
	store, conn := open(t)
	at := func(clock string) time.Time {
		instant, err := time.Parse(time.RFC3339, "2026-11-20T"+clock+":00Z")
		if err != nil {
			t.Fatal(err)
		}
		return instant
	}
	var exposures []flag.Exposure
	for _, one := range []struct{ id, variant, clock string }{{"device", "on", "09:00"}, {"bert", "off", "10:30"}} {
		exposures = append(exposures, flag.Exposure{Environment: 7, Flag: "nav", Variant: one.variant, Visitor: city.CH64([]byte(one.id)), At: at(one.clock), Expires: at("00:00").AddDate(1, 0, 0)})
	}
	if err := store.AppendFlagExposures(t.Context(), "one", exposures); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO roots (environment, visitor, root, edges) SELECT 7, cityHash64(id), cityHash64('ada'), 1 FROM (SELECT arrayJoin(['ada', 'device']) AS id)",
		"INSERT INTO links SELECT 7, cityHash64('device'), cityHash64('bert'), toDateTime64('2026-11-20 10:00:00', 3, 'UTC')",
		"INSERT INTO events (environment, id, ts, name, anonymous_id) VALUES (7, 'a', '2026-11-20 09:30:00', 'purchase', 'device'), " +
			"(7, 'b', '2026-11-20 11:00:00', 'purchase', 'device'), (7, 'c', '2026-11-20 11:30:00', 'refund', 'device'), (7, 'd', '2026-11-20 09:40:00', 'search', 'device')",
	} {
		if err := conn.Exec(t.Context(), statement, nil); err != nil {
			t.Fatal(err)
		}
	}
	g := func(name string) goal.Goal {
		return goal.Goal{ID: name, Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: name}}
	}
	got, err := store.FlagResults(t.Context(), flag.ResultQuery{
		Environment: 7, Flag: "nav", From: at("00:00"), To: at("23:00"), Goals: []goal.Goal{g("purchase"), g("refund"), g("search")},
	})
	want := flag.Totals{
		Exposed:     []flag.Exposed{{Variant: "off", Persons: 1}, {Variant: "on", Persons: 1}},
		Conversions: map[string]map[string]uint64{"purchase": {"off": 1, "on": 1}, "refund": {"off": 1}, "search": {"on": 1}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the results are\n%+v (%v)\nwant\n%+v", got, err, want)
	}
}
