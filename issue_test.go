package svc

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestOccurred is the table of status × occurrence × release.
func TestOccurred(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	order := map[string]time.Time{"alpha": at(-300), "beta": at(-200), "late": at(5)}
	for _, c := range []struct {
		status  IssueStatus
		fix     string
		release string
		moment  int
		order   map[string]time.Time
		want    IssueStatus
		need    []string
	}{
		{"", "", "", 1, nil, "", nil},
		{IssueOpen, "", "", 1, nil, IssueOpen, nil},
		{IssueRegressed, "", "", 1, nil, IssueRegressed, nil},
		{IssueIgnored, "", "", 1, nil, IssueIgnored, nil},
		{IssueResolved, "", "", 1, nil, IssueRegressed, nil},
		{IssueResolved, "", "", 0, nil, IssueResolved, nil},  // at the same instant: before
		{IssueResolved, "", "", -1, nil, IssueResolved, nil}, // it happened before
		{IssueResolved, "", "1.0", 1, nil, IssueRegressed, nil},
		{IssueResolved, "2.0.0", "", 1, nil, IssueRegressed, nil}, // no release shows that it is older
		{IssueResolved, "2.0.0", "2.0.0", 1, nil, IssueRegressed, nil},
		{IssueResolved, "2.0.0", "2.0.1", 1, nil, IssueRegressed, nil},
		{IssueResolved, "2.0.0", "10.0", 1, nil, IssueRegressed, nil},
		{IssueResolved, "2.0.0", "1.9.9", 1, nil, IssueResolved, nil},
		{IssueResolved, "2.0.0", "2.0.0-rc.1", 1, nil, IssueResolved, nil},
		{IssueResolved, "shop@2.0.0", "shop@1.9.9", 1, nil, IssueResolved, nil},
		{IssueResolved, "2.0.0", "1.9.9", -1, nil, IssueResolved, nil},
		{IssueResolved, "beta", "alpha", -1, nil, IssueResolved, nil},
		{IssueResolved, "beta", "alpha", 1, nil, IssueResolved, []string{"alpha", "beta"}},
		{IssueResolved, "beta", "alpha", 1, order, IssueResolved, nil},
		{IssueResolved, "beta", "beta", 1, nil, IssueRegressed, nil},
		{IssueResolved, "beta", "late", 1, order, IssueRegressed, nil},
		{IssueResolved, "beta", "never", 1, order, IssueRegressed, nil},
		{IssueResolved, "next", "alpha", 1, order, IssueResolved, nil}, // seen before the resolution
		{IssueResolved, "next", "late", 1, order, IssueRegressed, nil}, // seen after
		{IssueResolved, "shop@2.0.0", "till@1.0.0", 1, order, IssueRegressed, nil},
	} {
		t.Run(fmt.Sprintf("%s %s by %s at %d", c.status, c.fix, c.release, c.moment), func(t *testing.T) {
			state := IssueState{Status: c.status, ResolvedInRelease: c.fix}
			if c.status == IssueResolved {
				resolved := noon
				state.ResolvedAt = &resolved
			}
			got, need := state.Occurred([]IssueHit{{Release: c.release, Moment: at(c.moment)}}, c.order)
			if got.Status != c.want || !reflect.DeepEqual(need, c.need) {
				t.Errorf("got %s and %v, want %s and %v", got.Status, need, c.want, c.need)
			}
			if got.Status == IssueRegressed && c.status == IssueResolved && (got.RegressedAt == nil || !got.RegressedAt.Equal(at(c.moment)) || got.ResolvedAt != nil) {
				t.Errorf("state %+v", got)
			}
		})
	}
}

func TestOccurredTakesTheEarliestThatCounts(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	state := IssueState{Status: IssueResolved, ResolvedAt: &noon, ResolvedInRelease: "2.0"}
	got, need := state.Occurred([]IssueHit{
		{Release: "1.0", Moment: noon.Add(1)}, {Release: "3.0", Moment: noon.Add(3)}, {Release: "2.0", Moment: noon.Add(2)}, {Release: "word", Moment: noon.Add(1)},
	}, nil)
	if got.Status != IssueRegressed || !got.RegressedAt.Equal(noon.Add(2)) || need != nil {
		t.Errorf("%+v %v", got, need)
	}
}

// TestTheLogDecidesWhatIsNewer uses clocks of nodes that are ahead of the resolution's clock, and behind it.
func TestTheLogDecidesWhatIsNewer(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	resolved := IssueResolved
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
		patch, hit := IssuePatch{Status: &resolved}, IssueHit{Moment: noon.Add(c.moment)}
		if c.end >= 0 {
			patch.End = &c.end
		}
		if c.offset >= 0 {
			hit.Offset = &c.offset
		}
		got, _ := IssueState{}.Apply(noon, patch).Occurred([]IssueHit{hit}, nil)
		if (got.Status == IssueRegressed) != c.regresses || c.regresses && (got.ResolvedEnd != nil || got.RegressedAt.Before(noon)) {
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
	status := func(s IssueStatus) *IssueStatus { return &s }
	resolved := IssueState{Status: IssueResolved, ResolvedAt: &noon, ResolvedInRelease: "1.0"}
	for name, c := range map[string]struct {
		from     IssueState
		patch    IssuePatch
		want     IssueState
		problems []string
	}{
		"nothing":              {IssueState{}, IssuePatch{}, IssueState{}, []string{" empty_body"}},
		"resolve":              {IssueState{}, IssuePatch{Status: status(IssueResolved)}, IssueState{Status: IssueResolved, ResolvedAt: &noon}, nil},
		"resolve in a release": {IssueState{}, IssuePatch{Status: status(IssueResolved), ResolvedInRelease: &release}, resolved, nil},
		"resolve again":        {resolved, IssuePatch{Status: status(IssueResolved)}, IssueState{Status: IssueResolved, ResolvedAt: &noon}, nil},
		"ignore":               {resolved, IssuePatch{Status: status(IssueIgnored)}, IssueState{Status: IssueIgnored}, nil},
		"ignore until":         {IssueState{}, IssuePatch{Status: status(IssueIgnored), IgnoreUntil: &later}, IssueState{Status: IssueIgnored, IgnoreUntil: &later}, nil},
		"reopen":               {resolved, IssuePatch{Status: status(IssueOpen)}, IssueState{Status: IssueOpen}, nil},
		"unresolved":           {resolved, IssuePatch{Status: status("unresolved")}, IssueState{Status: IssueOpen}, nil},
		"assign":               {resolved, IssuePatch{AssigneeID: &member}, IssueState{Status: IssueResolved, ResolvedAt: &noon, ResolvedInRelease: "1.0", AssigneeID: member}, nil},
		"unassign":             {IssueState{AssigneeID: member}, IssuePatch{AssigneeID: &nobody}, IssueState{}, nil},
		"regressed":            {IssueState{}, IssuePatch{Status: status(IssueRegressed)}, IssueState{}, []string{"status unknown_value"}},
		"unknown":              {IssueState{}, IssuePatch{Status: status("closed")}, IssueState{}, []string{"status unknown_value"}},
		"release of nothing":   {IssueState{}, IssuePatch{ResolvedInRelease: &release}, IssueState{}, []string{"resolvedInRelease invalid_value"}},
		"ignore until before":  {IssueState{}, IssuePatch{Status: status(IssueIgnored), IgnoreUntil: &before}, IssueState{}, []string{"ignoreUntil invalid_value"}},
		"two problems":         {IssueState{}, IssuePatch{Status: status("x"), IgnoreUntil: &later}, IssueState{}, []string{"status unknown_value", "ignoreUntil invalid_value"}},
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
	ignored := IssueState{Status: IssueIgnored, IgnoreUntil: &later}
	if ignored.At(later.Add(-1)) != IssueIgnored || ignored.At(later) != IssueOpen {
		t.Error("an issue is not ignored exactly until its time")
	}
}

func TestARegressionIsOwedUntilItIsNoted(t *testing.T) {
	state := IssueState{Status: IssueRegressed}.Owe(7).Owe(8).Owe(7)
	resolved := IssueResolved
	after := state.Apply(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), IssuePatch{Status: &resolved})
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
		order, ok := CompareReleases(c.a, c.b)
		back, _ := CompareReleases(c.b, c.a)
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
