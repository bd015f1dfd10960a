package issues

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/protos"
)

// The issue actor.
//
//	identity   environment/issue: the environment's number and the issue's id
//	rank       1
//	owns       the decisions about the issue: status, assignee, merges, and the
//	           regressions that are not yet reported to the alert rules; the activity
//	           of members and of the service, and comments
//	persists   entity issue, once the issue is changed for the first time, and an entity
//	           activity for each entry; its counts come from the stored occurrences
//	woken by   calls, and by the sink when a resolved or merged issue occurs
//	limits     issue.MaxMerged parts, issue.MaxIssueActivity entries
//	stops      after half a minute without a message
//
// It lives in the partition that carries the issue's occurrences, on the same node as the ResolvedSet that it updates.
const kindIssue = "issue"

// issueIdle is how long an issue's actor stays activated: most are asked once.
const issueIdle = 30 * time.Second

type issueActor struct {
	number     uint64
	state      issue.State
	activities issue.Activities
	resolved   *ResolvedSet
}

// issueRecord is the stored form of an issue. The numbers are for queries.
type issueRecord struct {
	issue.State
	Issue         uint64 `json:"issue"`
	Root          uint64 `json:"root,omitempty"`
	IgnoreUntilMs int64  `json:"ignoreUntilMs,omitempty"`
	RegressedMs   int64  `json:"regressedMs,omitempty"`
}

type (
	patchIssue struct {
		Patch issue.Patch  `json:"patch"`
		By    issue.Author `json:"by"`
	}
	issueOccurrences struct {
		Hits []issue.Hit `json:"hits"`
		// FirstSeen is nil before the releases were looked up.
		FirstSeen map[string]time.Time `json:"firstSeen"`
		// Block is the number of the block. Tell is the same if alert rules wait for regressions, else 0.
		Block uint64 `json:"block,omitempty"`
		Tell  uint64 `json:"tell,omitempty"`
	}
	// occurredAnswer answers issueOccurrences.
	occurredAnswer struct {
		// MergedInto is the issue to ask instead.
		MergedInto string `json:"mergedInto"`
		// Need names the releases with a first occurrence that decides.
		Need []string `json:"need"`
		// Regressed is set if the issue regressed with the block of Tell.
		Regressed bool `json:"regressed,omitempty"`
	}
	// notedRegression confirms that the alert rules received a regression.
	notedRegression struct {
		Block uint64 `json:"block"`
	}
	// issuePart names another issue. If Noted is set, the activity mentions it.
	issuePart struct {
		ID    string       `json:"id"`
		Noted bool         `json:"noted,omitempty"`
		By    issue.Author `json:"by"`
	}
	// issueClaimed answers continue: whether the asking issue continues this one, and the issue that it becomes part
	// of.
	issueClaimed struct {
		Granted bool   `json:"granted"`
		Root    string `json:"root"`
	}
)

var issueKind = grain.NewKind[*issueActor](kindIssue, 1, issueIdle)

// The methods of the issue actor.
var (
	issuePatch    = grain.On(issueKind, "patch", (*issueActor).onPatch)
	issueOccurred = grain.On(issueKind, "occurred", (*issueActor).onOccurred, grain.Repeatable)
	issueAdopt    = grain.On(issueKind, "adopt", (*issueActor).onAdopt)
	issueRelease  = grain.On(issueKind, "release", (*issueActor).onRelease, grain.Repeatable)
	issueJoin     = grain.On(issueKind, "join", (*issueActor).onJoin)
	issueContinue = grain.On(issueKind, "continue", (*issueActor).onContinue)
	issueLeave    = grain.On(issueKind, "leave", (*issueActor).onLeave)
	issueNoted    = grain.On(issueKind, "noted", (*issueActor).onNoted)
	issueComment  = grain.On(issueKind, "comment", (*issueActor).onComment)
	issueActivity = grain.On(issueKind, "activity", (*issueActor).onActivity, grain.Repeatable)
)

// Kinds returns the kinds of issues and of releases for the actors of a node.
func Kinds(node *grain.Node, watch *ResolvedSet) []cluster.Kind {
	return []cluster.Kind{
		issueRow(node, watch),
		releasesKind.Row(node, func(string) *releases { return &releases{} }),
	}
}

// issueRow returns the kind of issues.
func issueRow(node *grain.Node, watch *ResolvedSet) cluster.Kind {
	kind := issueKind.Row(node, func(identity string) *issueActor {
		return &issueActor{number: issueOfIdentity(identity), resolved: watch}
	})
	kind.Partition = issuePartition
	return kind
}

func (i *issueActor) Restore(entities []domain.Entity) error {
	i.state, i.activities = issue.State{}, nil
	for _, entity := range entities {
		if entity.Kind == kindActivity {
			entry, err := grain.Decode[issue.Activity](entity)
			if err != nil {
				return err
			}
			i.activities = append(i.activities, entry)
			continue
		}
		record, err := grain.Decode[issueRecord](entity)
		if err != nil {
			return err
		}
		i.state = record.State
	}
	slices.SortFunc(i.activities, func(a, b issue.Activity) int { return cmp.Compare(a.Number, b.Number) })
	return nil
}

// issueChanged returns the outcome of a changed state. A resolved or merged issue enters the resolved set
// before the state is saved, and leaves it after.
func issueChanged[R any](i *issueActor, next issue.State, answer R, happened ...issue.Activity) grain.Outcome[R] {
	i.state = next
	record := issueRecord{State: next, Issue: i.number}
	if next.IgnoreUntil != nil {
		record.IgnoreUntilMs = next.IgnoreUntil.UnixMilli()
	}
	if next.RegressedAt != nil {
		record.RegressedMs = next.RegressedAt.UnixMilli()
	}
	record.Root, _ = occurrence.ParseIssueID(next.MergedInto)
	result := grain.Answer(answer, grain.Put("issue", "issue", record))
	for _, entry := range happened {
		writes, _ := i.note(entry) // only comments are refused
		result.Writes = append(result.Writes, writes...)
	}
	if next.Watched() {
		i.resolved.add(i.number)
	} else {
		result.After = i.dropResolved
	}
	return result
}

func (i *issueActor) onPatch(now time.Time, m patchIssue) (grain.Outcome[issue.Change], error) {
	if problems := m.Patch.Validate(now); len(problems) > 0 {
		return grain.Outcome[issue.Change]{}, domain.Invalid(problems...)
	}
	previous := i.state.At(now)
	next := i.state.Apply(now, m.Patch)
	happened := i.state.Changes(&next, now, m.By)
	return issueChanged(i, next, issue.Change{Previous: previous, Status: next.At(now)}, happened...), nil
}

// dropResolved removes the issue from the resolved set, as of a version.
func (i *issueActor) dropResolved(as domain.Version) { i.resolved.remove(i.number, as) }

// onOccurred decides whether occurrences reopen the issue.
func (i *issueActor) onOccurred(now time.Time, m issueOccurrences) (grain.Outcome[occurredAnswer], error) {
	// Since the block was reported first, rules may have begun or ceased to wait for regressions.
	if block := max(m.Block, m.Tell); slices.Contains(i.state.Owed, block) {
		return grain.Answer(occurredAnswer{Regressed: true}), nil
	}
	if i.state.MergedInto != "" {
		return grain.Answer(occurredAnswer{MergedInto: i.state.MergedInto}), nil
	}
	next, need := i.state.Occurred(m.Hits, m.FirstSeen)
	switch {
	case next.Status != i.state.Status && m.Tell != 0:
		return issueChanged(i, next.Owe(m.Tell), occurredAnswer{Regressed: true}, regression(&next, now)), nil
	case next.Status != i.state.Status:
		return issueChanged(i, next, occurredAnswer{}, regression(&next, now)), nil
	case !i.state.Watched():
		// The set contained an issue that need not be watched.
		return grain.Outcome[occurredAnswer]{Answer: occurredAnswer{Need: need}, Effects: grain.Effects{After: i.dropResolved}}, nil
	}
	return grain.Answer(occurredAnswer{Need: need}), nil
}

func (i *issueActor) onAdopt(now time.Time, m issuePart) (grain.Outcome[grain.None], error) {
	next, err := i.state.Adopt(m.ID)
	if err != nil {
		return grain.Outcome[grain.None]{}, err
	}
	if !m.Noted || slices.Contains(i.state.Merged, m.ID) {
		return issueChanged(i, next, grain.None{}), nil
	}
	return issueChanged(i, next, grain.None{}, issue.Activity{At: now, Kind: issue.ActivityMerged, Author: m.By, Issue: m.ID}), nil
}

func (i *issueActor) onRelease(now time.Time, m issuePart) (grain.Outcome[grain.None], error) {
	if !m.Noted || !slices.Contains(i.state.Merged, m.ID) {
		return issueChanged(i, i.state.Release(m.ID), grain.None{}), nil
	}
	return issueChanged(i, i.state.Release(m.ID), grain.None{}, issue.Activity{At: now, Kind: issue.ActivityUnmerged, Author: m.By, Issue: m.ID}), nil
}

func (i *issueActor) onJoin(_ time.Time, m issuePart) (grain.Outcome[grain.None], error) {
	next, err := i.state.Join(m.ID)
	if err != nil {
		return grain.Outcome[grain.None]{}, err
	}
	return issueChanged(i, next, grain.None{}), nil
}

func (i *issueActor) onLeave(_ time.Time, m issuePart) (grain.Outcome[grain.None], error) {
	if i.state.MergedInto != m.ID {
		return grain.Outcome[grain.None]{}, domain.NotFound("merged issue")
	}
	return issueChanged(i, i.state.Leave(), grain.None{}), nil
}

// onContinue decides whether an issue of the present grouping continues this one.
func (i *issueActor) onContinue(_ time.Time, m issuePart) (grain.Outcome[issueClaimed], error) {
	next, granted := i.state.Continue(m.ID)
	answer := issueClaimed{Granted: granted, Root: next.MergedInto}
	if answer.Root == "" {
		answer.Root = occurrence.IssueID(i.number)
	}
	if next.ContinuedBy == i.state.ContinuedBy {
		return grain.Answer(answer), nil
	}
	return issueChanged(i, next, answer), nil
}

// onNoted records that the alert rules received a regression. It may be repeated.
func (i *issueActor) onNoted(_ time.Time, m notedRegression) (grain.Outcome[grain.None], error) {
	if !slices.Contains(i.state.Owed, m.Block) {
		return grain.Answer(grain.None{}), nil
	}
	return issueChanged(i, i.state.Noted(m.Block), grain.None{}), nil
}

func issueIdentity(environment, number uint64) string {
	return strconv.FormatUint(environment, 10) + "/" + occurrence.IssueID(number)
}

// issueOfIdentity returns the number of an identity's issue, 0 for an invalid one.
func issueOfIdentity(identity string) uint64 {
	_, id, _ := strings.Cut(identity, "/")
	number, _ := occurrence.ParseIssueID(id)
	return number
}

// issuePartition places an issue at the partition that carries its occurrences.
func issuePartition(identity string, partitions int) int {
	return protos.PartitionOfIssue(issueOfIdentity(identity), partitions)
}
