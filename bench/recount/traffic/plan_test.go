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
	latest, times := map[string]time.Time{}, map[string][]time.Time{}
	for _, s := range sent {
		if s.Ts.After(settings.Now) || s.Ts.Before(settings.Now.AddDate(0, 0, -Days-1)) {
			t.Fatalf("%s is outside of the span", s.Ts)
		}
		visitor := s.DistinctID + s.AnonymousID
		before, after := neighbours(times[visitor], s.Ts)
		note := map[string]bool{
			"of a visit over midnight":         before < gap && s.Ts.In(berlin).Day() != s.Ts.Add(-before).In(berlin).Day(),
			"between two visits, and the last": before < gap && after < gap && before+after > gap,
			"earlier in its visit":             before > gap && after < gap,
			"repeated":                         s.Again, "bot": s.Bot, "without an id": s.ID == "", "identify": s.Type == "identify", "alias": s.Type == "alias",
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
		times[visitor] = append(times[visitor], s.Ts)
		byTime[s.Ts], latest[visitor] = true, s.Ts
		if len(s.Properties) > 0 && !json.Valid(s.Properties) {
			t.Errorf("%s", s.Properties)
		}
	}
	for _, name := range []string{
		"repeated", "bot", "without an id", "identify", "alias", "staging", "development", "named session", "priced", "engaged",
		"an instant shared", "late", "stated campaign", "referred", "with properties", "near a change of the clock",
		"of a visit over midnight", "between two visits, and the last", "earlier in its visit",
		"a bot with a person's id", "one of many at a time", "referred within the site",
	} {
		if found[name] < 3 {
			t.Errorf("%d of %d items are %s", found[name], len(sent), name)
		}
	}
}

// gap is the pause that ends a visit.
const gap = 30 * time.Minute

// neighbours returns how long before and after an instant the nearest other ones are, a year if there is none.
func neighbours(times []time.Time, at time.Time) (before, after time.Duration) {
	before, after = 365*24*time.Hour, 365*24*time.Hour
	for _, one := range times {
		if one.After(at) {
			after = min(after, one.Sub(at))
		} else {
			before = min(before, at.Sub(one))
		}
	}
	return before, after
}

func TestFamiliesAreDeterministicAndHard(t *testing.T) {
	t.Parallel()
	settings := Settings{Seed: 3, Zone: time.UTC, Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	instants, ids := map[time.Time]string{}, map[string]bool{}
	found := map[string]int{}
	for round := range 3 {
		sent := Families(settings, round, 40, 16)
		if again := Families(settings, round, 40, 16); !reflect.DeepEqual(sent, again) {
			t.Fatal("one seed gives two plans")
		}
		latest := time.Time{}
		for _, s := range sent {
			if s.Again {
				found["repeated"]++
				continue
			}
			if other, taken := instants[s.Ts]; taken {
				t.Errorf("%s and %s are of one instant", other, s.ID)
			}
			if s.ID != "" && ids[s.ID] {
				t.Errorf("two items are called %s", s.ID)
			}
			instants[s.Ts], ids[s.ID] = s.ID, true
			for name, is := range map[string]bool{
				"late": s.Ts.Before(latest), "alias": s.Type == "alias", "alias of a ghost": strings.HasPrefix(s.PreviousID, "ghost"),
				"identify of a device": s.Type == "identify" && strings.HasPrefix(s.AnonymousID, "device"), "identify of a member": s.Type == "identify" && strings.HasPrefix(s.AnonymousID, "member"),
				"of a ghost": strings.HasPrefix(s.DistinctID, "ghost"), "of a device": s.DistinctID == "" && s.AnonymousID != "", "bot": s.Bot,
				"trait taken away": strings.Contains(string(s.Traits), "null"), "trait told once": strings.Contains(string(s.Traits), "$set_once"),
			} {
				if is {
					found[name]++
				}
			}
			if s.Ts.After(latest) {
				latest = s.Ts
			}
		}
	}
	for _, name := range []string{
		"repeated", "late", "alias", "alias of a ghost", "identify of a device", "identify of a member", "of a ghost", "of a device", "bot", "trait taken away", "trait told once",
	} {
		if found[name] < 3 {
			t.Errorf("%d items are %s", found[name], name)
		}
	}
}
