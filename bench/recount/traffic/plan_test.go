package traffic

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestPlanIsDeterministicAndHard(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	settings := Settings{Seed: 3, Visitors: 400, Zone: berlin, Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	sent := Plan(settings)
	if again := Plan(settings); !reflect.DeepEqual(sent, again) {
		t.Fatal("one seed gives two plans")
	}
	found := map[string]int{}
	byTime := map[time.Time]bool{}
	people := map[string]bool{}
	latest := map[string]time.Time{}
	for _, s := range sent {
		if s.Ts.After(settings.Now) || s.Ts.Before(settings.Now.AddDate(0, 0, -Days-1)) {
			t.Fatalf("%s is outside of the span", s.Ts)
		}
		visitor := s.DistinctID + s.AnonymousID
		note := map[string]bool{
			"repeated": s.Again, "bot": s.Bot, "without an id": s.ID == "", "identify": s.Type == "identify", "alias": s.Type == "alias",
			"staging": s.Environment == "staging", "development": s.Environment == "development", "named session": s.SessionID != "",
			"priced": s.Value != nil, "engaged": s.EngagedMs > 0, "an instant shared": byTime[s.Ts], "late": s.Ts.Before(latest[visitor]),
			"a bot with a person's id": s.Bot && people[visitor], "one of many at a time": strings.HasPrefix(s.SessionID, "crowd-"),
			"referred within the site": strings.HasPrefix(s.Referrer, site),
			"stated campaign":          s.Context.Campaign != nil, "referred": s.Referrer != "", "with properties": len(s.Properties) > 0,
			"near a change of the clock": s.Ts.Sub(time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)).Abs() < 2*time.Hour,
		}
		for name, is := range note {
			if is {
				found[name]++
			}
		}
		people[visitor] = people[visitor] || !s.Bot
		byTime[s.Ts], latest[visitor] = true, s.Ts
		if len(s.Properties) > 0 && !json.Valid(s.Properties) {
			t.Errorf("%s", s.Properties)
		}
	}
	for _, name := range []string{
		"repeated", "bot", "without an id", "identify", "alias", "staging", "development", "named session", "priced", "engaged",
		"an instant shared", "late", "stated campaign", "referred", "with properties", "near a change of the clock",
		"a bot with a person's id", "one of many at a time", "referred within the site",
	} {
		if found[name] < 3 {
			t.Errorf("%d of %d items are %s", found[name], len(sent), name)
		}
	}
}
