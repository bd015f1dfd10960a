package issues

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/protos"
)

func testIssue() (number uint64, other string) {
	return occurrence.IssueNumber(1, "v1-a"), occurrence.IssueID(occurrence.IssueNumber(1, "v1-b"))
}

// TestIssueLife plays the lives of an issue; only the stored state survives each step.
func TestIssueLife(t *testing.T) {
	number, other := testIssue()
	root, _ := occurrence.ParseIssueID(other)
	resolved, ignored, unresolved := issue.Resolved, issue.Ignored, issue.Status("unresolved")
	release, member := "2.0", "usr_1"
	record := func(state issue.State, change ...func(*issueRecord)) []grain.Write {
		r := issueRecord{State: state, Issue: number}
		for _, c := range change {
			c(&r)
		}
		return []grain.Write{grain.Put("issue", "issue", r)}
	}
	// and returns a step that also adds an entry to the activity.
	and := func(s actorstest.Step, entry issue.Activity) actorstest.Step {
		entry.At = entry.At.UTC()
		s.Want.Writes = append(slices.Clip(s.Want.Writes), grain.Put("activity", strconv.FormatUint(entry.Number, 10), entry))
		return s
	}
	status := func(number uint64, after time.Duration, from, to issue.Status, release string) issue.Activity {
		return issue.Activity{Number: number, At: actorstest.At(after), Kind: issue.ActivityStatus, From: string(from), To: string(to), Release: release}
	}
	back := func(number uint64, after time.Duration, release string) issue.Activity {
		entry := status(number, after, issue.Resolved, issue.Regressed, release)
		entry.Kind = issue.ActivityRegression
		return entry
	}
	instant := func(after time.Duration) *time.Time { i := actorstest.At(after); return &i }
	patch := func(name string, after time.Duration, p issue.Patch, previous issue.Status, next issue.State, change ...func(*issueRecord)) actorstest.Step {
		return actorstest.Step{Name: name, After: after, Method: "patch", Message: patchIssue{Patch: p}, Want: grain.Answer[any](issue.Change{Previous: previous, Status: next.At(actorstest.At(after))}, record(next, change...)...)}
	}
	occurred := func(name string, moment time.Duration, release string, settled occurredAnswer, writes []grain.Write) actorstest.Step {
		return actorstest.Step{Name: name, After: moment, Method: "occurred", Message: issueOccurrences{Hits: []issue.Hit{{Release: release, Moment: actorstest.At(moment)}}}, Want: grain.Answer[any](settled, writes...)}
	}
	told := func(name string, moment time.Duration, block uint64, settled occurredAnswer, writes []grain.Write) actorstest.Step {
		s := occurred(name, moment, "", settled, writes)
		s.Message = issueOccurrences{Hits: []issue.Hit{{Moment: actorstest.At(moment)}}, Block: block, Tell: block}
		return s
	}
	untold := func(name string, moment time.Duration, block uint64, settled occurredAnswer) actorstest.Step {
		s := occurred(name, moment, "", settled, nil)
		s.Message = issueOccurrences{Hits: []issue.Hit{{Moment: actorstest.At(moment)}}, Block: block}
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
			and(patch("resolve", time.Second, issue.Patch{Status: &resolved}, issue.Open, issue.State{Status: issue.Resolved, ResolvedAt: instant(time.Second)}), status(1, time.Second, issue.Open, issue.Resolved, "")),
			occurred("before it was resolved", 0, "", occurredAnswer{}, nil),
			and(occurred("after", 2*time.Second, "", occurredAnswer{}, record(issue.State{Status: issue.Regressed, RegressedAt: instant(2 * time.Second)},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() })), back(2, 2*time.Second, "")),
			occurred("again", 3*time.Second, "", occurredAnswer{}, nil),
			and(patch("assign", 4*time.Second, issue.Patch{AssigneeID: &member}, issue.Regressed, issue.State{Status: issue.Regressed, RegressedAt: instant(2 * time.Second), AssigneeID: member},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() }), issue.Activity{Number: 3, At: actorstest.At(4 * time.Second), Kind: issue.ActivityAssignee, To: member}),
		},
		"a fix in a release": {
			and(patch("resolve", 0, issue.Patch{Status: &resolved, ResolvedInRelease: &release}, issue.Open, issue.State{Status: issue.Resolved, ResolvedAt: instant(0), ResolvedInRelease: "2.0"}), status(1, 0, issue.Open, issue.Resolved, "2.0")),
			occurred("in an older one", time.Second, "1.9", occurredAnswer{}, nil),
			occurred("in a word", time.Second, "blue", occurredAnswer{Need: []string{"blue", "2.0"}}, nil),
			and(occurred("in it", 2*time.Second, "2.0", occurredAnswer{}, record(issue.State{Status: issue.Regressed, RegressedAt: instant(2 * time.Second), RegressedInRelease: "2.0"},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() })), back(2, 2*time.Second, "2.0")),
		},
		"ignored": {
			and(patch("ignore", 0, issue.Patch{Status: &ignored, IgnoreUntil: instant(time.Hour)}, issue.Open, issue.State{Status: issue.Ignored, IgnoreUntil: instant(time.Hour)},
				func(r *issueRecord) { r.IgnoreUntilMs = actorstest.At(time.Hour).UnixMilli() }), status(1, 0, issue.Open, issue.Ignored, "")),
			occurred("while ignored", time.Second, "", occurredAnswer{}, nil),
			patch("open again", 2*time.Hour, issue.Patch{Status: &unresolved}, issue.Open, issue.State{Status: issue.Open}),
		},
		"part of another": {
			part("join", "join", record(issue.State{MergedInto: other}, func(r *issueRecord) { r.Root = root }), nil),
			part("join again", "join", record(issue.State{MergedInto: other}, func(r *issueRecord) { r.Root = root }), nil),
			occurred("passed on", 0, "", occurredAnswer{MergedInto: other}, nil),
			part("adopt", "adopt", nil, &domain.Error{Code: domain.CodeConflict, Reason: "merged", Message: "The issue is itself part of " + other + "; merge into that one."}),
			part("leave", "leave", record(issue.State{}), nil),
			part("leave again", "leave", nil, domain.NotFound("merged issue")),
		},
		"made of another": {
			part("adopt", "adopt", record(issue.State{Merged: []string{other}}), nil),
			part("join", "join", nil, &domain.Error{Code: domain.CodeConflict, Reason: "has_merged", Message: "Other issues are part of this one; unmerge them first."}),
			part("release", "release", record(issue.State{Merged: []string{}}), nil),
		},
		"a regression that is to be told of": {
			and(patch("resolve", time.Second, issue.Patch{Status: &resolved}, issue.Open, issue.State{Status: issue.Resolved, ResolvedAt: instant(time.Second)}), status(1, time.Second, issue.Open, issue.Resolved, "")),
			and(told("in a block", 2*time.Second, 7, occurredAnswer{Regressed: true}, record(issue.State{Status: issue.Regressed, RegressedAt: instant(2 * time.Second), Owed: []uint64{7}},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() })), back(2, 2*time.Second, "")),
			told("in the same block again", 2*time.Second, 7, occurredAnswer{Regressed: true}, nil),
			untold("in the same block after its rules were deleted", 2*time.Second, 7, occurredAnswer{Regressed: true}),
			told("in a later block", 3*time.Second, 8, occurredAnswer{}, nil),
			untold("in a later block after its rules were deleted", 3*time.Second, 8, occurredAnswer{}),
			and(patch("resolve before it was told", 4*time.Second, issue.Patch{Status: &resolved}, issue.Regressed, issue.State{Status: issue.Resolved, ResolvedAt: instant(4 * time.Second), RegressedAt: instant(2 * time.Second), Owed: []uint64{7}},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() }), status(3, 4*time.Second, issue.Regressed, issue.Resolved, "")),
			told("the block once more", 2*time.Second, 7, occurredAnswer{Regressed: true}, nil),
			{Name: "noted", Method: "noted", Message: notedRegression{7}, Want: grain.Answer[any](grain.None{}, record(issue.State{Status: issue.Resolved, ResolvedAt: instant(4 * time.Second), RegressedAt: instant(2 * time.Second), Owed: []uint64{}},
				func(r *issueRecord) { r.RegressedMs = actorstest.At(2 * time.Second).UnixMilli() })...)},
			{Name: "noted again", Method: "noted", Message: notedRegression{7}, Want: grain.Answer[any](grain.None{})},
			told("the block after all", 2*time.Second, 7, occurredAnswer{}, nil),
		},
	} {
		t.Run(name, func(t *testing.T) {
			actorstest.Play(t, issueKind, func() *issueActor { return &issueActor{number: number, resolved: &ResolvedSet{}} }, true, steps)
		})
	}
}

// TestIssuesAreWatchedBeforeTheyAreSaved holds a save and checks the resolved set.
func TestIssuesAreWatchedBeforeTheyAreSaved(t *testing.T) {
	number, _ := testIssue()
	watch := &ResolvedSet{}
	i := &issueActor{number: number, resolved: watch}
	resolved, open := issue.Resolved, issue.Open
	if _, err := i.onPatch(actorstest.Epoch(), patchIssue{Patch: issue.Patch{Status: &resolved}}); err != nil || !watch.has(number) {
		t.Errorf("a resolved issue is not watched before it is saved (%v)", err)
	}
	result, err := i.onPatch(actorstest.Epoch(), patchIssue{Patch: issue.Patch{Status: &open}})
	if err != nil || !watch.has(number) {
		t.Errorf("an open issue is not watched until it is saved (%v)", err)
	}
	if result.After(domain.Version{Generation: 1, Sequence: 1}); watch.has(number) {
		t.Error("an open issue is watched")
	}
	watch.add(number)
	settled, err := i.onOccurred(actorstest.Epoch(), issueOccurrences{})
	if err != nil || settled.After == nil {
		t.Fatalf("an issue that is watched for nothing does nothing about it (%v)", err)
	}
	if settled.After(domain.Version{Generation: 1, Sequence: 1}); watch.has(number) {
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
		a, b := occurrence.IssueNumber(1, "v1-a"), occurrence.IssueNumber(1, "v1-b")
		change := func(i uint64, status issue.Status) issue.Change {
			t.Helper()
			got, err := issues.Change(ctx, 1, i, issue.Patch{Status: &status}, issue.Author{ID: "usr_1", Name: "Ada"})
			if err != nil {
				t.Fatal(err)
			}
			host.EvictAll()
			synctest.Wait()
			return got
		}
		occur := func(i uint64) {
			t.Helper()
			time.Sleep(time.Second)
			came, late := issues.occurred(ctx, 7, []issueHits{{1, i, []issue.Hit{{Moment: time.Now()}}}}, func(uint64) bool { return true })
			if len(late) > 0 || !slices.Equal(came, []issueKey{{1, a}}) {
				t.Fatalf("%v, %v", came, late)
			}
			if err := issues.noted(ctx, 7, came); err != nil {
				t.Fatal(err)
			}
			host.EvictAll()
			synctest.Wait()
		}
		change(a, issue.Resolved)
		occur(a)
		if got := change(a, issue.Resolved); got != (issue.Change{Previous: issue.Regressed, Status: issue.Resolved}) {
			t.Errorf("after a regression: %+v", got)
		}
		if err := issues.Merge(ctx, 1, a, b, issue.Author{}); err != nil || !watch.has(b) {
			t.Fatalf("merging: %v", err)
		}
		if err := issues.Merge(ctx, 1, b, a, issue.Author{}); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("merging in a circle: %v", err)
		}
		occur(b)
		if got := change(a, issue.Open); got.Previous != issue.Regressed {
			t.Errorf("after its part occurred: %+v", got)
		}
		if err := issues.Unmerge(ctx, 1, a, b, issue.Author{}); err != nil || watch.has(b) {
			t.Errorf("parting: %v", err)
		}
		if err := issues.Unmerge(ctx, 1, a, b, issue.Author{}); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("parting again: %v", err)
		}
	})
}

// TestIssuesLiveBesideTheirOccurrences checks that an issue and its occurrences share a partition.
func TestIssuesLiveBesideTheirOccurrences(t *testing.T) {
	for n := range uint64(100) {
		number := occurrence.IssueNumber(n, "v1-x")
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
		broken, stray, well := occurrence.IssueNumber(1, "v1-a"), occurrence.IssueNumber(1, "v1-b"), occurrence.IssueNumber(1, "v1-c")
		entity := func(issue uint64, payload string) domain.Entity {
			return domain.Entity{Owner: kindIssue + "/" + issueIdentity(1, issue), Kind: "issue", ID: "issue", Payload: []byte(payload), Version: domain.Version{Sequence: 1}}
		}
		if err := store.Put(ctx, []domain.Entity{entity(broken, `{"status":7}`), entity(stray, `{"mergedInto":"nobody"}`)}, nil, domain.Trail{}); err != nil {
			t.Fatal(err)
		}
		resolved := issue.Resolved
		if _, err := issues.Change(ctx, 1, well, issue.Patch{Status: &resolved}, issue.Author{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		var hits []issueHits
		for _, i := range []uint64{broken, stray, well} {
			hits = append(hits, issueHits{1, i, []issue.Hit{{Moment: time.Now()}}})
		}
		came, late := issues.occurred(ctx, 7, hits, func(uint64) bool { return true })
		if !slices.Equal(came, []issueKey{{1, well}}) || len(late) != 1 || late[0].issue != broken {
			t.Errorf("%v, %v", came, late)
		}
	})
}
