package issue

import (
	"fmt"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/occurrence"
	"svc/domain/release"
)

// Status is the status of an issue.
type Status string

// The statuses. An issue begins open; only the service sets regressed.
const (
	Open      Status = "open"
	Regressed Status = "regressed"
	Resolved  Status = "resolved"
	Ignored   Status = "ignored"
)

// Statuses lists the statuses.
func Statuses() []Status {
	return []Status{Open, Regressed, Resolved, Ignored}
}

// Values lists the statuses.
func (Status) Values() []Status { return Statuses() }

// issueUnresolved is a synonym for open in changes (contract 76).
const issueUnresolved Status = "unresolved"

// State holds the decisions of people and the service about an issue. Its counts are not here: they come from the
// stored occurrences. The zero value is an untouched issue.
type State struct {
	Status     Status `json:"status"`
	AssigneeID string `json:"assigneeId,omitempty"`
	// ResolvedAt is when the issue was last resolved; earlier occurrences do not reopen it.
	ResolvedAt *time.Time `json:"resolvedAt,omitempty"`
	// ResolvedEnd is where the log of the issue's occurrences ended when the resolution was requested, nil if unknown.
	// Occurrences after that offset were accepted after the request.
	ResolvedEnd *int64 `json:"resolvedEnd,omitempty"`
	// ResolvedInRelease is the release that contains the fix; occurrences of older releases do not reopen the issue.
	ResolvedInRelease string     `json:"resolvedInRelease,omitempty"`
	IgnoreUntil       *time.Time `json:"ignoreUntil,omitempty"`
	RegressedAt       *time.Time `json:"regressedAt,omitempty"`
	// RegressedInRelease is the release of the occurrence that last reopened the issue.
	RegressedInRelease string `json:"regressedInRelease,omitempty"`
	// Owed are the blocks that made the issue regress and that the alert rules have not processed yet.
	Owed []uint64 `json:"owed,omitempty"`
	// MergedInto is the issue that this one is part of, Merged are the issues that are part of this one.
	MergedInto string   `json:"mergedInto,omitempty"`
	Merged     []string `json:"merged,omitempty"`
	// ContinuedBy is the issue of the present grouping that continues this one of the former grouping. It is retained
	// when people separate the two.
	ContinuedBy string `json:"continuedBy,omitempty"`
}

// At returns the status at an instant: an issue is ignored until its time ends, then open.
func (s *State) At(now time.Time) Status {
	switch {
	case s.Status == "", s.Status == Ignored && s.IgnoreUntil != nil && !now.Before(*s.IgnoreUntil):
		return Open
	}
	return s.Status
}

// Watched reports whether occurrences of the issue must be shown to its owner: it may regress, it is part of another
// issue that may, or the alert rules have not processed a regression yet.
func (s *State) Watched() bool {
	return s.Status == Resolved || s.MergedInto != "" || len(s.Owed) > 0
}

// Patch requests a change of an issue; nil fields are unchanged.
type Patch struct {
	Status *Status `json:"status"`
	// AssigneeID assigns the issue; the empty id removes the assignee.
	AssigneeID        *string    `json:"assigneeId"`
	ResolvedInRelease *string    `json:"resolvedInRelease"`
	IgnoreUntil       *time.Time `json:"ignoreUntil"`
	// End is where the log of the issue's occurrences ends, nil if unknown. The service adds it to a resolution.
	End *int64 `json:"end,omitempty"`
}

// Validate returns every problem of the patch, none if it is valid.
func (p *Patch) Validate(now time.Time) []domain.FieldError {
	if *p == (Patch{}) {
		return []domain.FieldError{{Code: "empty_body", Message: "The body changes nothing; send status or assigneeId."}}
	}
	var problems []domain.FieldError
	var wanted Status
	if p.Status != nil {
		wanted = *p.Status
	}
	settable := []Status{Resolved, Ignored, Open, issueUnresolved}
	switch {
	case wanted == Regressed:
		problems = append(problems, domain.FieldError{Field: "status", Code: "unknown_value", Message: "Only the service sets the status regressed.", Allowed: domain.Texts(settable[:3])})
	case p.Status != nil && !slices.Contains(settable, wanted):
		problems = append(problems, domain.FieldError{Field: "status", Code: "unknown_value", Message: fmt.Sprintf("Unknown status %q.", wanted), Allowed: domain.Texts(settable[:3])})
	}
	if p.ResolvedInRelease != nil && (wanted != Resolved || len(*p.ResolvedInRelease) > event.MaxNameBytes) {
		problems = append(problems, domain.FieldError{Field: "resolvedInRelease", Code: "invalid_value", Message: fmt.Sprintf("resolvedInRelease goes with the status resolved and is up to %d bytes long.", event.MaxNameBytes)})
	}
	if p.IgnoreUntil != nil && (wanted != Ignored || !p.IgnoreUntil.After(now)) {
		problems = append(problems, domain.FieldError{Field: "ignoreUntil", Code: "invalid_value", Message: "ignoreUntil goes with the status ignored and lies in the future."})
	}
	return problems
}

// Apply returns the state after a valid patch. If the issue is already resolved, occurrences since its resolution no
// longer count against it.
func (s State) Apply(now time.Time, p Patch) State {
	if p.AssigneeID != nil {
		s.AssigneeID = *p.AssigneeID
	}
	if p.Status == nil {
		return s
	}
	s.Status, s.ResolvedAt, s.ResolvedEnd, s.ResolvedInRelease, s.IgnoreUntil = *p.Status, nil, nil, "", nil
	switch s.Status {
	case Resolved:
		at := now.Truncate(time.Millisecond)
		s.ResolvedAt, s.ResolvedEnd = &at, p.End
		if p.ResolvedInRelease != nil {
			s.ResolvedInRelease = *p.ResolvedInRelease
		}
	case Ignored:
		s.IgnoreUntil = p.IgnoreUntil
	default:
		s.Status = Open
	}
	return s
}

// Change is an issue's status before and after a change.
type Change struct {
	Previous Status `json:"previousStatus"`
	Status   Status `json:"status"`
}

// Hit says that an issue occurred in a release.
type Hit struct {
	Release string `json:"release"`
	// Moment is HitMoment of the latest such occurrence.
	Moment time.Time `json:"moment"`
	// Offset is the position of the latest such occurrence in the log of the issue's occurrences. It is nil if the
	// client held the occurrence back or the issue has another log.
	Offset *int64 `json:"offset,omitempty"`
}

// Total is the total count of an issue's occurrences, with the name and message of the latest one.
type Total struct {
	Environment, Issue, Occurrences uint64
	Name, Message                   string
}

// Title names the issue in a line that any member may read.
func (t *Total) Title() string { return domain.MaskShapes(occurrence.IssueTitle(t.Name, t.Message)) }

// NewIssues says that issues occurred for the first time.
type NewIssues struct {
	Environment uint64 `json:"environment"`
	// Block is the number of the stored block that holds all of their occurrences. A block may be reported more than
	// once, each time with different issues: a retry leaves out the issues that an earlier attempt found and reported.
	Block  uint64        `json:"block"`
	Issues []TitledIssue `json:"issues,omitempty"`
	// ID and Title belong to one of the issues, Others counts the rest. They replace the issues in messages and notes
	// of earlier versions, which do not list them.
	ID     string `json:"id"`
	Title  string `json:"title"`
	Others int    `json:"others,omitempty"`
}

// Regressions says that issues regressed.
type Regressions struct {
	Environment uint64 `json:"environment"`
	// Block is the number of the stored block that contains the occurrences. An issue regresses once per block, however
	// often the block is reported.
	Block  uint64        `json:"block"`
	Issues []TitledIssue `json:"issues"`
}

// TitledIssue is an issue with its title.
type TitledIssue struct {
	Issue uint64 `json:"issue"`
	Title string `json:"title"`
}

// KeptBack reports whether a client held an occurrence back for longer than the possible error of client clocks. Then
// the time of the occurrence counts, not the time of its acceptance.
func KeptBack(ts, receivedAt time.Time) bool { return ts.Add(event.FutureTolerance).Before(receivedAt) }

// HitMoment is the instant that decides whether an occurrence is newer than a resolution. It is the time of acceptance,
// but at most event.FutureTolerance, the possible error of client clocks, after the occurrence. So an occurrence that a
// client held back for an hour does not look new.
func HitMoment(ts, receivedAt time.Time) time.Time {
	if KeptBack(ts, receivedAt) {
		return ts.Add(event.FutureTolerance)
	}
	return receivedAt
}

// Occurred returns the state after occurrences. A resolved issue regresses if one of them is newer than the resolution
// and not of a release older than the fix; no other state changes.
//
// Versions order releases by themselves (release.CompareReleases). Of other names, the one first seen later is newer. If that
// decides, need names the releases whose first occurrence must be known. The caller then calls again with them in
// firstSeen, which has no entry for a release that was never seen.
func (s State) Occurred(hits []Hit, firstSeen map[string]time.Time) (next State, need []string) {
	if s.Status != Resolved || s.ResolvedAt == nil {
		return s, nil
	}
	var regressed *time.Time
	var release string
	for _, hit := range hits {
		if !s.newer(&hit) {
			continue
		}
		older, known := s.olderThanFix(hit.Release, firstSeen)
		switch {
		case !known:
			need = append(need, hit.Release)
		case !older && (regressed == nil || hit.Moment.Before(*regressed)):
			moment := hit.Moment
			if moment.Before(*s.ResolvedAt) { // a clock was slow
				moment = *s.ResolvedAt
			}
			regressed, release = &moment, hit.Release
		}
	}
	if regressed != nil {
		s.Status, s.RegressedAt, s.ResolvedAt, s.ResolvedInRelease = Regressed, regressed, nil, ""
		s.ResolvedEnd, s.RegressedInRelease = nil, release
		return s, nil
	}
	if len(need) > 0 {
		need = append(need, s.ResolvedInRelease)
	}
	return s, need
}

// clockTolerance is the greatest difference between the clocks of nodes.
const clockTolerance = time.Minute

// newer reports whether an occurrence is newer than the resolution. The order of the log decides if it is known,
// because every node accepts with its own clock; otherwise the clocks decide. The clocks also decide if the difference
// exceeds their tolerance, because a log may have been recreated.
func (s *State) newer(hit *Hit) bool {
	if s.ResolvedEnd != nil && hit.Offset != nil {
		return *hit.Offset >= *s.ResolvedEnd || hit.Moment.After(s.ResolvedAt.Add(clockTolerance))
	}
	return hit.Moment.After(*s.ResolvedAt)
}

// olderThanFix reports whether a release is older than the one that contains the fix; known is false if only their
// first occurrences can decide.
func (s *State) olderThanFix(r string, firstSeen map[string]time.Time) (older, known bool) {
	if s.ResolvedInRelease == "" || r == "" {
		return false, true
	}
	if order, ok := release.CompareReleases(r, s.ResolvedInRelease); ok {
		return order < 0, true
	}
	if firstSeen == nil {
		return false, false
	}
	seen, wasSeen := firstSeen[r]
	if !wasSeen {
		return false, true
	}
	fixSeen, fixWasSeen := firstSeen[s.ResolvedInRelease]
	if !fixWasSeen {
		// The fix is not released yet: a release that was seen before the resolution is older.
		return !seen.After(*s.ResolvedAt), true
	}
	return seen.Before(fixSeen), true
}

// Owe returns the state of an issue that regressed with a block. The block stays in the state until the alert rules
// have processed it.
func (s State) Owe(block uint64) State {
	if !slices.Contains(s.Owed, block) {
		s.Owed = append(slices.Clone(s.Owed), block)
	}
	return s
}

// Noted returns the state after the alert rules have processed a regression.
func (s State) Noted(block uint64) State {
	s.Owed = slices.DeleteFunc(slices.Clone(s.Owed), func(owed uint64) bool { return owed == block })
	return s
}

// MaxMerged limits the issues that can be merged into one.
const MaxMerged = 100

// Adopt returns the state of an issue after another one becomes part of it. An issue that is itself part of another
// cannot adopt (conflict).
func (s State) Adopt(id string) (State, error) {
	switch {
	case s.MergedInto != "":
		return s, &domain.Error{Code: domain.CodeConflict, Reason: "merged", Message: "The issue is itself part of " + s.MergedInto + "; merge into that one."}
	case slices.Contains(s.Merged, id):
		return s, nil
	case len(s.Merged) >= MaxMerged:
		return s, &domain.Error{Code: domain.CodeConflict, Reason: "too_many", Message: fmt.Sprintf("An issue is made of %d others at most.", MaxMerged)}
	}
	s.Merged = append(slices.Clone(s.Merged), id)
	slices.Sort(s.Merged)
	return s, nil
}

// Continue returns the state of an issue of the former grouping after another issue asked to continue it, and whether
// the request was granted. Only the first request is granted.
func (s State) Continue(id string) (next State, granted bool) {
	if s.ContinuedBy == "" {
		s.ContinuedBy = id
	}
	return s, s.ContinuedBy == id
}

// Release returns the state of an issue after another one is no longer part of it.
func (s State) Release(id string) State {
	s.Merged = slices.DeleteFunc(slices.Clone(s.Merged), func(other string) bool { return other == id })
	return s
}

// Join returns the state of an issue that becomes part of another. An issue that has parts, or is part of a third
// issue, cannot join (conflict).
func (s State) Join(id string) (State, error) {
	switch {
	case len(s.Merged) > 0:
		return s, &domain.Error{Code: domain.CodeConflict, Reason: "has_merged", Message: "Other issues are part of this one; unmerge them first."}
	case s.MergedInto != "" && s.MergedInto != id:
		return s, &domain.Error{Code: domain.CodeConflict, Reason: "merged", Message: "The issue is part of " + s.MergedInto + " already."}
	}
	s.MergedInto = id
	return s, nil
}

// Leave returns the state of an issue that is no longer part of another: its earlier state.
func (s State) Leave() State {
	s.MergedInto = ""
	return s
}
