package issue

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain/release"
)

// TestOccurred is the table of status × occurrence × release.
func TestOccurred(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	order := map[string]time.Time{"alpha": at(-300), "beta": at(-200), "late": at(5)}
	for _, c := range []struct {
		status  Status
		fix     string
		release string
		moment  int
		order   map[string]time.Time
		want    Status
		need    []string
	}{
		{"", "", "", 1, nil, "", nil},
		{Open, "", "", 1, nil, Open, nil},
		{Regressed, "", "", 1, nil, Regressed, nil},
		{Ignored, "", "", 1, nil, Ignored, nil},
		{Resolved, "", "", 1, nil, Regressed, nil},
		{Resolved, "", "", 0, nil, Resolved, nil},  // at the same instant: before
		{Resolved, "", "", -1, nil, Resolved, nil}, // it happened before
		{Resolved, "", "1.0", 1, nil, Regressed, nil},
		{Resolved, "2.0.0", "", 1, nil, Regressed, nil}, // no release shows that it is older
		{Resolved, "2.0.0", "2.0.0", 1, nil, Regressed, nil},
		{Resolved, "2.0.0", "2.0.1", 1, nil, Regressed, nil},
		{Resolved, "2.0.0", "10.0", 1, nil, Regressed, nil},
		{Resolved, "2.0.0", "1.9.9", 1, nil, Resolved, nil},
		{Resolved, "2.0.0", "2.0.0-rc.1", 1, nil, Resolved, nil},
		{Resolved, "shop@2.0.0", "shop@1.9.9", 1, nil, Resolved, nil},
		{Resolved, "2.0.0", "1.9.9", -1, nil, Resolved, nil},
		{Resolved, "beta", "alpha", -1, nil, Resolved, nil},
		{Resolved, "beta", "alpha", 1, nil, Resolved, []string{"alpha", "beta"}},
		{Resolved, "beta", "alpha", 1, order, Resolved, nil},
		{Resolved, "beta", "beta", 1, nil, Regressed, nil},
		{Resolved, "beta", "late", 1, order, Regressed, nil},
		{Resolved, "beta", "never", 1, order, Regressed, nil},
		{Resolved, "next", "alpha", 1, order, Resolved, nil}, // seen before the resolution
		{Resolved, "next", "late", 1, order, Regressed, nil}, // seen after
		{Resolved, "shop@2.0.0", "till@1.0.0", 1, order, Regressed, nil},
	} {
		t.Run(fmt.Sprintf("%s %s by %s at %d", c.status, c.fix, c.release, c.moment), func(t *testing.T) {
			state := State{Status: c.status, ResolvedInRelease: c.fix}
			if c.status == Resolved {
				resolved := noon
				state.ResolvedAt = &resolved
			}
			got, need := state.Occurred([]Hit{{Release: c.release, Moment: at(c.moment)}}, c.order)
			if got.Status != c.want || !reflect.DeepEqual(need, c.need) {
				t.Errorf("got %s and %v, want %s and %v", got.Status, need, c.want, c.need)
			}
			if got.Status == Regressed && c.status == Resolved && (got.RegressedAt == nil || !got.RegressedAt.Equal(at(c.moment)) || got.ResolvedAt != nil) {
				t.Errorf("state %+v", got)
			}
		})
	}
}

func TestOccurredTakesTheEarliestThatCounts(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	state := State{Status: Resolved, ResolvedAt: &noon, ResolvedInRelease: "2.0"}
	got, need := state.Occurred([]Hit{
		{Release: "1.0", Moment: noon.Add(1)}, {Release: "3.0", Moment: noon.Add(3)}, {Release: "2.0", Moment: noon.Add(2)}, {Release: "word", Moment: noon.Add(1)},
	}, nil)
	if got.Status != Regressed || !got.RegressedAt.Equal(noon.Add(2)) || need != nil {
		t.Errorf("%+v %v", got, need)
	}
}

// TestTheLogDecidesWhatIsNewer uses clocks of nodes that are ahead of the resolution's clock, and behind it.
func TestTheLogDecidesWhatIsNewer(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	resolved := Resolved
	for _, c := range []struct {
		name        string
		end, offset int64 // -1 if unknown
		moment      time.Duration
		regresses   bool
	}{
		{"after the resolution, by a slow clock", 10, 10, -2 * time.Second, true},
		{"after the resolution", 10, 12, time.Second, true},
		{"before the resolution, by a clock that is ahead", 10, 9, 2 * time.Second, false},
		{"before the resolution", 10, 9, -time.Second, false},
		{"in a log that has begun again", 10, 3, 2 * time.Minute, true},
		{"kept back by a client, from before", 10, -1, -time.Second, false},
		{"kept back by a client, from after", 10, -1, time.Second, true},
		{"where the log could not be asked", -1, 10, -2 * time.Second, false},
		{"where the log could not be asked, from after", -1, 10, time.Second, true},
	} {
		patch, hit := Patch{Status: &resolved}, Hit{Moment: noon.Add(c.moment)}
		if c.end >= 0 {
			patch.End = &c.end
		}
		if c.offset >= 0 {
			hit.Offset = &c.offset
		}
		got, _ := State{}.Apply(noon, patch).Occurred([]Hit{hit}, nil)
		if (got.Status == Regressed) != c.regresses || c.regresses && (got.ResolvedEnd != nil || got.RegressedAt.Before(noon)) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestHitMoment(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for happened, want := range map[time.Duration]time.Duration{0: 0, -4 * time.Minute: 0, -time.Hour: -55 * time.Minute, 5 * time.Minute: 0} {
		if got := HitMoment(noon.Add(happened), noon); !got.Equal(noon.Add(want)) {
			t.Errorf("%s before: %s", -happened, got)
		}
	}
}

func TestIssuePatch(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	later, before, member, nobody, release := noon.Add(time.Hour), noon.Add(-time.Hour), "usr_1", "", "1.0"
	status := func(s Status) *Status { return &s }
	resolved := State{Status: Resolved, ResolvedAt: &noon, ResolvedInRelease: "1.0"}
	for name, c := range map[string]struct {
		from     State
		patch    Patch
		want     State
		problems []string
	}{
		"nothing":              {State{}, Patch{}, State{}, []string{" empty_body"}},
		"resolve":              {State{}, Patch{Status: status(Resolved)}, State{Status: Resolved, ResolvedAt: &noon}, nil},
		"resolve in a release": {State{}, Patch{Status: status(Resolved), ResolvedInRelease: &release}, resolved, nil},
		"resolve again":        {resolved, Patch{Status: status(Resolved)}, State{Status: Resolved, ResolvedAt: &noon}, nil},
		"ignore":               {resolved, Patch{Status: status(Ignored)}, State{Status: Ignored}, nil},
		"ignore until":         {State{}, Patch{Status: status(Ignored), IgnoreUntil: &later}, State{Status: Ignored, IgnoreUntil: &later}, nil},
		"reopen":               {resolved, Patch{Status: status(Open)}, State{Status: Open}, nil},
		"unresolved":           {resolved, Patch{Status: status("unresolved")}, State{Status: Open}, nil},
		"assign":               {resolved, Patch{AssigneeID: &member}, State{Status: Resolved, ResolvedAt: &noon, ResolvedInRelease: "1.0", AssigneeID: member}, nil},
		"unassign":             {State{AssigneeID: member}, Patch{AssigneeID: &nobody}, State{}, nil},
		"regressed":            {State{}, Patch{Status: status(Regressed)}, State{}, []string{"status unknown_value"}},
		"unknown":              {State{}, Patch{Status: status("closed")}, State{}, []string{"status unknown_value"}},
		"release of nothing":   {State{}, Patch{ResolvedInRelease: &release}, State{}, []string{"resolvedInRelease invalid_value"}},
		"ignore until before":  {State{}, Patch{Status: status(Ignored), IgnoreUntil: &before}, State{}, []string{"ignoreUntil invalid_value"}},
		"two problems":         {State{}, Patch{Status: status("x"), IgnoreUntil: &later}, State{}, []string{"status unknown_value", "ignoreUntil invalid_value"}},
	} {
		t.Run(name, func(t *testing.T) {
			var problems []string
			for _, problem := range c.patch.Validate(noon) {
				problems = append(problems, problem.Field+" "+problem.Code)
			}
			if !reflect.DeepEqual(problems, c.problems) {
				t.Fatalf("problems %v, want %v", problems, c.problems)
			}
			if problems != nil {
				return
			}
			if got := c.from.Apply(noon, c.patch); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	ignored := State{Status: Ignored, IgnoreUntil: &later}
	if ignored.At(later.Add(-1)) != Ignored || ignored.At(later) != Open {
		t.Error("an issue is not ignored exactly until its time")
	}
}

func TestARegressionIsOwedUntilItIsNoted(t *testing.T) {
	state := State{Status: Regressed}.Owe(7).Owe(8).Owe(7)
	resolved := Resolved
	after := state.Apply(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Patch{Status: &resolved})
	if !slices.Equal(after.Owed, []uint64{7, 8}) || !state.Watched() {
		t.Errorf("%+v", after)
	}
	if rest := state.Noted(7).Noted(9); !slices.Equal(rest.Owed, []uint64{8}) || !rest.Watched() {
		t.Errorf("%+v", rest)
	}
	if done := state.Noted(7).Noted(8); done.Watched() || !slices.Equal(state.Owed, []uint64{7, 8}) {
		t.Errorf("%+v of %+v", done, state)
	}
}

func TestCompareReleases(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		order int
		ok    bool
	}{
		{"1.0.0", "1.0.0", 0, true},
		{"1.2.3", "1.10.0", -1, true},
		{"v2", "1.9.9.9", 1, true},
		{"1.0", "1.0.0", 0, true},
		{"1.0.0-rc.1", "1.0.0", -1, true},
		{"1.0.0-rc.2", "1.0.0-rc.10", -1, true},
		{"1.0.0-1", "1.0.0-a", -1, true},
		{"1.0.0-a", "1.0.0-a.1", -1, true},
		{"1.0.0+5", "1.0.0+9", 0, true},
		{"shop@1.0.0", "shop@1.0.1", -1, true},
		{"shop@1.0.0", "till@1.0.1", 0, false},
		{"abc", "abc", 0, true},
		{"abc", "1.0", 0, false},
		{"1.0", "1.x", 0, false},
		{"1.2.3.4.5", "1", 0, false},
		{"", "1", 0, false},
		{"20261120", "20261119", 1, true},
		{"99999999999999999999999", "100000000000000000000000", -1, true},
	} {
		order, ok := release.CompareReleases(c.a, c.b)
		back, _ := release.CompareReleases(c.b, c.a)
		if order != c.order || ok != c.ok || back != -order {
			t.Errorf("%q and %q: %d %v, back %d", c.a, c.b, order, ok, back)
		}
	}
}

func TestLastDays(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	days := LastDays(time.Date(2026, 10, 26, 1, 0, 0, 0, berlin), 3, berlin) // the clock was set back on the 25th
	want := []string{"2026-10-24 00:00 CEST", "2026-10-25 00:00 CEST", "2026-10-26 00:00 CET", "2026-10-27 00:00 CET"}
	for i, day := range days {
		if got := day.Format("2006-01-02 15:04 MST"); got != want[i] {
			t.Errorf("day %d is %s, want %s", i, got, want[i])
		}
	}
}
