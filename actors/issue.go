package actors

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"svc"
	"svc/protos"
)

// The issue actor.
//
//	identity   environment/issue: the environment's number and the issue's id
//	rank       1
//	owns       what was decided about the issue: status, assignee, what it is
//	           merged with, of which regressions the alert rules must still hear
//	persists   entity issue, once anybody touches the issue; what it counts comes
//	           from the stored occurrences
//	woken by   calls, and by the sink when a resolved or merged issue occurs
//	limits     svc.MaxMerged parts
//	stops      after half a minute without a message
//
// It lives in the partition that carries the issue's occurrences, beside the
// Watch that it keeps.
const kindIssue = "issue"

type issue struct {
	number uint64
	state  svc.IssueState
	watch  *Watch
}

// issueRecord is how an issue is stored. The numbers are for queries.
type issueRecord struct {
	svc.IssueState
	Issue         uint64 `json:"issue"`
	Root          uint64 `json:"root,omitempty"`
	IgnoreUntilMs int64  `json:"ignoreUntilMs,omitempty"`
	RegressedMs   int64  `json:"regressedMs,omitempty"`
}

type (
	patchIssue struct {
		Patch svc.IssuePatch `json:"patch"`
	}
	issueOccurred struct {
		Hits []svc.IssueHit `json:"hits"`
		// FirstSeen is nil where nobody has looked.
		FirstSeen map[string]time.Time `json:"firstSeen"`
		// Tell is the number of the block, where alert rules wait for regressions.
		Tell uint64 `json:"tell,omitempty"`
	}
	// issueSettled answers issueOccurred.
	issueSettled struct {
		// MergedInto is the issue to tell instead.
		MergedInto string `json:"mergedInto"`
		// Need names the releases whose first occurrence decides.
		Need []string `json:"need"`
		// Regressed says that the issue regressed with the block to tell of.
		Regressed bool `json:"regressed,omitempty"`
	}
	// issueNoted says that the alert rules know of a regression.
	issueNoted struct {
		Block uint64 `json:"block"`
	}
	issuePart struct {
		ID string `json:"id"`
	}
	// issueClaimed answers continue: whether the asker goes on with the issue, and what it is
	// to become part of.
	issueClaimed struct {
		Granted bool   `json:"granted"`
		Root    string `json:"root"`
	}
)

func issueHandlers() map[string]handler[*issue] {
	return map[string]handler[*issue]{
		"patch":    on((*issue).onPatch),
		"occurred": on((*issue).onOccurred),
		"adopt":    on((*issue).onAdopt),
		"release":  on((*issue).onRelease),
		"join":     on((*issue).onJoin),
		"continue": on((*issue).onContinue),
		"leave":    on((*issue).onLeave),
		"noted":    on((*issue).onNoted),
	}
}

func (i *issue) apply(now time.Time, method string, payload []byte) (outcome, error) {
	return dispatch(issueHandlers(), i, now, method, payload)
}

func (i *issue) restore(entities []svc.Entity) error {
	i.state = svc.IssueState{}
	for _, entity := range entities {
		record, err := decode[issueRecord](entity)
		if err != nil {
			return err
		}
		i.state = record.IssueState
	}
	return nil
}

// change is the outcome of a changed state. The issue is watched before the
// state is saved and unwatched after.
func (i *issue) change(next svc.IssueState, answer any) outcome {
	i.state = next
	record := issueRecord{IssueState: next, Issue: i.number}
	if next.IgnoreUntil != nil {
		record.IgnoreUntilMs = next.IgnoreUntil.UnixMilli()
	}
	if next.RegressedAt != nil {
		record.RegressedMs = next.RegressedAt.UnixMilli()
	}
	record.Root, _ = svc.ParseIssueID(next.MergedInto)
	result := outcome{answer: answer, writes: []write{{"issue", "issue", record}}}
	if next.Watched() {
		i.watch.add(i.number)
	} else {
		result.after = i.unwatch
	}
	return result
}

func (i *issue) onPatch(now time.Time, m patchIssue) (outcome, error) {
	if problems := m.Patch.Validate(now); len(problems) > 0 {
		return outcome{}, svc.Invalid(problems...)
	}
	previous := i.state.At(now)
	next := i.state.Apply(now, m.Patch)
	return i.change(next, svc.IssueChange{Previous: previous, Status: next.At(now)}), nil
}

// unwatch takes the issue out of the watch, as of a version.
func (i *issue) unwatch(as svc.Version) { i.watch.remove(i.number, as) }

// onOccurred decides whether the issue came back.
func (i *issue) onOccurred(_ time.Time, m issueOccurred) (outcome, error) {
	if m.Tell != 0 && slices.Contains(i.state.Owed, m.Tell) {
		return outcome{answer: issueSettled{Regressed: true}}, nil
	}
	if i.state.MergedInto != "" {
		return outcome{answer: issueSettled{MergedInto: i.state.MergedInto}}, nil
	}
	next, need := i.state.Occurred(m.Hits, m.FirstSeen)
	switch {
	case next.Status != i.state.Status && m.Tell != 0:
		return i.change(next.Owe(m.Tell), issueSettled{Regressed: true}), nil
	case next.Status != i.state.Status:
		return i.change(next, issueSettled{}), nil
	case !i.state.Watched():
		// The watch held too many.
		return outcome{answer: issueSettled{Need: need}, after: i.unwatch}, nil
	}
	return outcome{answer: issueSettled{Need: need}}, nil
}

func (i *issue) onAdopt(_ time.Time, m issuePart) (outcome, error) {
	next, err := i.state.Adopt(m.ID)
	if err != nil {
		return outcome{}, err
	}
	return i.change(next, none{}), nil
}

func (i *issue) onRelease(_ time.Time, m issuePart) (outcome, error) {
	return i.change(i.state.Release(m.ID), none{}), nil
}

func (i *issue) onJoin(_ time.Time, m issuePart) (outcome, error) {
	next, err := i.state.Join(m.ID)
	if err != nil {
		return outcome{}, err
	}
	return i.change(next, none{}), nil
}

func (i *issue) onLeave(_ time.Time, m issuePart) (outcome, error) {
	if i.state.MergedInto != m.ID {
		return outcome{}, svc.NotFound("merged issue")
	}
	return i.change(i.state.Leave(), none{}), nil
}

// onContinue answers whether an issue of the present grouping goes on with this one.
func (i *issue) onContinue(_ time.Time, m issuePart) (outcome, error) {
	next, granted := i.state.Continue(m.ID)
	answer := issueClaimed{Granted: granted, Root: next.MergedInto}
	if answer.Root == "" {
		answer.Root = svc.IssueID(i.number)
	}
	if next.ContinuedBy == i.state.ContinuedBy {
		return outcome{answer: answer}, nil
	}
	return i.change(next, answer), nil
}

// onNoted is told that the alert rules know of a regression. It may be repeated.
func (i *issue) onNoted(_ time.Time, m issueNoted) (outcome, error) {
	if !slices.Contains(i.state.Owed, m.Block) {
		return outcome{answer: none{}}, nil
	}
	return i.change(i.state.Noted(m.Block), none{}), nil
}

func issueIdentity(environment, number uint64) string {
	return strconv.FormatUint(environment, 10) + "/" + svc.IssueID(number)
}

// issueOfIdentity returns the number of an identity's issue, 0 for a strange one.
func issueOfIdentity(identity string) uint64 {
	_, id, _ := strings.Cut(identity, "/")
	number, _ := svc.ParseIssueID(id)
	return number
}

// issuePartition places an issue at the partition that carries its occurrences.
func issuePartition(identity string, partitions int) int {
	return protos.PartitionOfIssue(issueOfIdentity(identity), partitions)
}
