package issues

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/protos"
)

func testIssue() (number uint64, other string) {
	return svc.IssueNumber(1, "v1-a"), svc.IssueID(svc.IssueNumber(1, "v1-b"))
}

// TestIssueLife plays the lives of an issue; only the stored state survives each step.
func TestIssueLife(t *testing.T) {
	number, other := testIssue()
	root, _ := svc.ParseIssueID(other)
	resolved, ignored, unresolved := svc.IssueResolved, svc.IssueIgnored, svc.IssueStatus("unresolved")
	release, member := "2.0", "usr_1"
	record := func(state svc.IssueState, change ...func(*issueRecord)) []grain.Write {
		r := issueRecord{IssueState: state, Issue: number}
		for _, c := range change {
			c(&r)
		}
		return []grain.Write{grain.Put("issue", "issue", r)}
	}
	// and returns a step that also adds an entry to the activity.
	and := func(s actorstest.Step, entry svc.IssueActivity) actorstest.Step {
		entry.At = entry.At.UTC()
		s.Want.Writes = append(slices.Clip(s.Want.Writes), grain.Put("activity", strconv.FormatUint(entry.Number, 10), entry))
		return s
	}
	status := func(number uint64, after time.Duration, from, to svc.IssueStatus, release string) svc.IssueActivity {
		return svc.IssueActivity{Number: number, At: actorstest.At(after), Kind: svc.ActivityStatus, From: string(from), To: string(to), Release: release}
	}
	back := func(number uint64, after time.Duration, release string) svc.IssueActivity {
		entry := status(number, after, svc.IssueResolved, svc.IssueRegressed, release)
		entry.Kind = svc.ActivityRegression
		return entry
	}
	instant := func(after time.Duration) *time.Time { i := actorstest.At(after); return &i }
	patch := func(name string, after time.Duration, p svc.IssuePatch, previous svc.IssueStatus, next svc.IssueState, change ...func(*issueRecord)) actorstest.Step {
		return actorstest.Step{Name: name, After: after, Method: "patch", Message: patchIssue{Patch: p}, Want: grain.Answer[any](svc.IssueChange{Previous: previous, Status: next.At(actorstest.At(after))}, record(next, change...)...)}
	}
	occurred := func(name string, moment time.Duration, release string, settled occurredAnswer, writes []grain.Write) actorstest.Step {
		return actorstest.Step{Name: name, After: moment, Method: "occurred", Message: issueOccurrences{Hits: []svc.IssueHit{{Release: release, Moment: actorstest.At(moment)}}}, Want: grain.Answer[any](settled, writes...)}
	}
	told := func(name string, moment time.Duration, block uint64, settled occurredAnswer, writes []grain.Write) actorstest.Step {
		s := occurred(name, moment, "", settled, writes)
		s.Message = issueOccurrences{Hits: []svc.IssueHit{{Moment: actorstest.At(moment)}}, Block: block, Tell: block}
		return s
	}
	untold := func(name string, moment time.Duration, block uint64, settled occurredAnswer) actorstest.Step {
		s := occurred(name, moment, "", settled, nil)
		s.Message = issueOccurrences{Hits: []svc.IssueHit{{Moment: actorstest.At(moment)}}, Block: block}
		return s
	}
	part := func(name, method string, writes []grain.Write, err error) actorstest.Step {
		s := actorstest.Step{Name: name, Method: method, Message: issuePart{ID: other}, Err: err}
		if err == nil {
			s.Want = grain.Answer[any](grain.None{}, writes...)
		}
		return s
	}
	for name, steps := range map[string][]actorstest.Step{
		"regression": {
			occurred("while open", 0, "", occurredAnswer{}, nil),
			and(patch("resolve", time.Second, svc.IssuePatch{Status: &resolved}, svc.IssueOpen, svc.IssueState{Status: svc.IssueResolved, ResolvedAt: instant(time.Second)}), status(1, time.Second, svc.IssueOpen, svc.IssueResolved, "")),
			occurred("before it was resolved", 0, "", occurredAnswer{}, nil),
			and(occurred("after", 2*time.Second, "", occurredAnswer{}, record(svc.IssueState{Status: svc.IssueRegressed, RegressedAt: instant(2 * time.Second)},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() })), back(2, 2*time.Second, "")),
			occurred("again", 3*time.Second, "", occurredAnswer{}, nil),
			and(patch("assign", 4*time.Second, svc.IssuePatch{AssigneeID: &member}, svc.IssueRegressed, svc.IssueState{Status: svc.IssueRegressed, RegressedAt: instant(2 * time.Second), AssigneeID: member},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() }), svc.IssueActivity{Number: 3, At: actorstest.At(4 * time.Second), Kind: svc.ActivityAssignee, To: member}),
		},
		"a fix in a release": {
			and(patch("resolve", 0, svc.IssuePatch{Status: &resolved, ResolvedInRelease: &release}, svc.IssueOpen, svc.IssueState{Status: svc.IssueResolved, ResolvedAt: instant(0), ResolvedInRelease: "2.0"}), status(1, 0, svc.IssueOpen, svc.IssueResolved, "2.0")),
			occurred("in an older one", time.Second, "1.9", occurredAnswer{}, nil),
			occurred("in a word", time.Second, "blue", occurredAnswer{Need: []string{"blue", "2.0"}}, nil),
			and(occurred("in it", 2*time.Second, "2.0", occurredAnswer{}, record(svc.IssueState{Status: svc.IssueRegressed, RegressedAt: instant(2 * time.Second), RegressedInRelease: "2.0"},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() })), back(2, 2*time.Second, "2.0")),
		},
		"ignored": {
			and(patch("ignore", 0, svc.IssuePatch{Status: &ignored, IgnoreUntil: instant(time.Hour)}, svc.IssueOpen, svc.IssueState{Status: svc.IssueIgnored, IgnoreUntil: instant(time.Hour)},
				func(r *issueRecord) { r.IgnoreUntilMs = actorstest.At(time.Hour).UnixMilli() }), status(1, 0, svc.IssueOpen, svc.IssueIgnored, "")),
			occurred("while ignored", time.Second, "", occurredAnswer{}, nil),
			patch("open again", 2*time.Hour, svc.IssuePatch{Status: &unresolved}, svc.IssueOpen, svc.IssueState{Status: svc.IssueOpen}),
		},
		"part of another": {
			part("join", "join", record(svc.IssueState{MergedInto: other}, func(r *issueRecord) { r.Root = root }), nil),
			part("join again", "join", record(svc.IssueState{MergedInto: other}, func(r *issueRecord) { r.Root = root }), nil),
			occurred("passed on", 0, "", occurredAnswer{MergedInto: other}, nil),
			part("adopt", "adopt", nil, &svc.Error{Code: svc.CodeConflict, Reason: "merged", Message: "The issue is itself part of " + other + "; merge into that one."}),
			part("leave", "leave", record(svc.IssueState{}), nil),
			part("leave again", "leave", nil, svc.NotFound("merged issue")),
		},
		"made of another": {
			part("adopt", "adopt", record(svc.IssueState{Merged: []string{other}}), nil),
			part("join", "join", nil, &svc.Error{Code: svc.CodeConflict, Reason: "has_merged", Message: "Other issues are part of this one; unmerge them first."}),
			part("release", "release", record(svc.IssueState{Merged: []string{}}), nil),
		},
		"a regression that is to be told of": {
			and(patch("resolve", time.Second, svc.IssuePatch{Status: &resolved}, svc.IssueOpen, svc.IssueState{Status: svc.IssueResolved, ResolvedAt: instant(time.Second)}), status(1, time.Second, svc.IssueOpen, svc.IssueResolved, "")),
			and(told("in a block", 2*time.Second, 7, occurredAnswer{Regressed: true}, record(svc.IssueState{Status: svc.IssueRegressed, RegressedAt: instant(2 * time.Second), Owed: []uint64{7}},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() })), back(2, 2*time.Second, "")),
			told("in the same block again", 2*time.Second, 7, occurredAnswer{Regressed: true}, nil),
			untold("in the same block after its rules were deleted", 2*time.Second, 7, occurredAnswer{Regressed: true}),
			told("in a later block", 3*time.Second, 8, occurredAnswer{}, nil),
			untold("in a later block after its rules were deleted", 3*time.Second, 8, occurredAnswer{}),
			and(patch("resolve before it was told", 4*time.Second, svc.IssuePatch{Status: &resolved}, svc.IssueRegressed, svc.IssueState{Status: svc.IssueResolved, ResolvedAt: instant(4 * time.Second), RegressedAt: instant(2 * time.Second), Owed: []uint64{7}},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() }), status(3, 4*time.Second, svc.IssueRegressed, svc.IssueResolved, "")),
			told("the block once more", 2*time.Second, 7, occurredAnswer{Regressed: true}, nil),
			{Name: "noted", Method: "noted", Message: notedRegression{7}, Want: grain.Answer[any](grain.None{}, record(svc.IssueState{Status: svc.IssueResolved, ResolvedAt: instant(4 * time.Second), RegressedAt: instant(2 * time.Second), Owed: []uint64{}},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() })...)},
			{Name: "noted again", Method: "noted", Message: notedRegression{7}, Want: grain.Answer[any](grain.None{})},
			told("the block after all", 2*time.Second, 7, occurredAnswer{}, nil),
		},
	} {
		t.Run(name, func(t *testing.T) {
			actorstest.Play(t, issueKind, func() *issue { return &issue{number: number, resolved: &ResolvedSet{}} }, true, steps)
		})
	}
}

// TestIssuesAreWatchedBeforeTheyAreSaved holds a save and checks the resolved set.
func TestIssuesAreWatchedBeforeTheyAreSaved(t *testing.T) {
	number, _ := testIssue()
	watch := &ResolvedSet{}
	i := &issue{number: number, resolved: watch}
	resolved, open := svc.IssueResolved, svc.IssueOpen
	if _, err := i.onPatch(actorstest.Epoch(), patchIssue{Patch: svc.IssuePatch{Status: &resolved}}); err != nil || !watch.has(number) {
		t.Errorf("a resolved issue is not watched before it is saved (%v)", err)
	}
	result, err := i.onPatch(actorstest.Epoch(), patchIssue{Patch: svc.IssuePatch{Status: &open}})
	if err != nil || !watch.has(number) {
		t.Errorf("an open issue is not watched until it is saved (%v)", err)
	}
	if result.After(svc.Version{Generation: 1, Sequence: 1}); watch.has(number) {
		t.Error("an open issue is watched")
	}
	watch.add(number)
	settled, err := i.onOccurred(actorstest.Epoch(), issueOccurrences{})
	if err != nil || settled.After == nil {
		t.Fatalf("an issue that is watched for nothing does nothing about it (%v)", err)
	}
	if settled.After(svc.Version{Generation: 1, Sequence: 1}); watch.has(number) {
		t.Error("an issue that is watched for nothing stays so")
	}
}

// TestIssuesSurviveAMove changes issues through a cluster that evicts their actors in between, and merges and unmerges
// them.
func TestIssuesSurviveAMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := actorstest.NewStore()
		watch := &ResolvedSet{Partitions: actorstest.Partitions}
		node := &grain.Node{Store: store, Workers: grain.NewWorkers(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		host := actorstest.NewHost(t, issueRow(node, watch))
		issues := &Issues{Actors: host.Cluster}
		ctx := context.Background()
		a, b := svc.IssueNumber(1, "v1-a"), svc.IssueNumber(1, "v1-b")
		change := func(issue uint64, status svc.IssueStatus) svc.IssueChange {
			t.Helper()
			got, err := issues.Change(ctx, 1, issue, svc.IssuePatch{Status: &status}, svc.IssueAuthor{ID: "usr_1", Name: "Ada"})
			if err != nil {
				t.Fatal(err)
			}
			host.EvictAll()
			synctest.Wait()
			return got
		}
		occur := func(issue uint64) {
			t.Helper()
			time.Sleep(time.Second)
			came, late := issues.occurred(ctx, 7, []issueHits{{1, issue, []svc.IssueHit{{Moment: time.Now()}}}}, func(uint64) bool { return true })
			if len(late) > 0 || !slices.Equal(came, []issueKey{{1, a}}) {
				t.Fatalf("%v, %v", came, late)
			}
			if err := issues.noted(ctx, 7, came); err != nil {
				t.Fatal(err)
			}
			host.EvictAll()
			synctest.Wait()
		}
		change(a, svc.IssueResolved)
		occur(a)
		if got := change(a, svc.IssueResolved); got != (svc.IssueChange{Previous: svc.IssueRegressed, Status: svc.IssueResolved}) {
			t.Errorf("after a regression: %+v", got)
		}
		if err := issues.Merge(ctx, 1, a, b, svc.IssueAuthor{}); err != nil || !watch.has(b) {
			t.Fatalf("merging: %v", err)
		}
		if err := issues.Merge(ctx, 1, b, a, svc.IssueAuthor{}); svc.CodeOf(err) != svc.CodeConflict {
			t.Errorf("merging in a circle: %v", err)
		}
		occur(b)
		if got := change(a, svc.IssueOpen); got.Previous != svc.IssueRegressed {
			t.Errorf("after its part occurred: %+v", got)
		}
		if err := issues.Unmerge(ctx, 1, a, b, svc.IssueAuthor{}); err != nil || watch.has(b) {
			t.Errorf("parting: %v", err)
		}
		if err := issues.Unmerge(ctx, 1, a, b, svc.IssueAuthor{}); svc.CodeOf(err) != svc.CodeNotFound {
			t.Errorf("parting again: %v", err)
		}
	})
}

// TestIssuesLiveBesideTheirOccurrences checks that an issue and its occurrences share a partition.
func TestIssuesLiveBesideTheirOccurrences(t *testing.T) {
	for n := range uint64(100) {
		number := svc.IssueNumber(n, "v1-x")
		if got, want := issuePartition(issueIdentity(n, number), 16), protos.PartitionOfIssue(number, 16); got != want {
			t.Errorf("issue %d is at %d, its occurrences at %d", number, got, want)
		}
	}
}

// TestOneIssueDoesNotKeepOthersFromHearing tests one unreadable issue, and one that is part of an invalid id.
func TestOneIssueDoesNotKeepOthersFromHearing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := actorstest.NewStore()
		node := &grain.Node{Store: store, Workers: grain.NewWorkers(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		watch := &ResolvedSet{Partitions: actorstest.Partitions}
		host := actorstest.NewHost(t, issueRow(node, watch))
		issues, ctx := &Issues{Actors: host.Cluster}, context.Background()
		broken, stray, well := svc.IssueNumber(1, "v1-a"), svc.IssueNumber(1, "v1-b"), svc.IssueNumber(1, "v1-c")
		entity := func(issue uint64, payload string) svc.Entity {
			return svc.Entity{Owner: kindIssue + "/" + issueIdentity(1, issue), Kind: "issue", ID: "issue", Payload: []byte(payload), Version: svc.Version{Sequence: 1}}
		}
		if err := store.Put(ctx, []svc.Entity{entity(broken, `{"status":7}`), entity(stray, `{"mergedInto":"nobody"}`)}, nil, svc.Trail{}); err != nil {
			t.Fatal(err)
		}
		resolved := svc.IssueResolved
		if _, err := issues.Change(ctx, 1, well, svc.IssuePatch{Status: &resolved}, svc.IssueAuthor{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		var hits []issueHits
		for _, issue := range []uint64{broken, stray, well} {
			hits = append(hits, issueHits{1, issue, []svc.IssueHit{{Moment: time.Now()}}})
		}
		came, late := issues.occurred(ctx, 7, hits, func(uint64) bool { return true })
		if !slices.Equal(came, []issueKey{{1, well}}) || len(late) != 1 || late[0].issue != broken {
			t.Errorf("%v, %v", came, late)
		}
	})
}
