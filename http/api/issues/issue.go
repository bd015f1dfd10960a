package issues

import (
	"context"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/http/api"
	"svc/http/route"
)

// issuePath is the address of an issue in a path.
type issuePath struct {
	api.AppPath
	IssueID string           `path:"issueId" doc:"The issue's id."`
	Env     someEnvironments `query:"env" doc:"The environment's slug; the issue's own where it is absent."`
}

// find returns the issue of a path and its environment. For an issue that is part of another one, it returns that other
// one.
func (e tracking) find(ctx context.Context, call *route.Call, in issuePath) (domain.Environment, issue.Issue, error) {
	return e.findIn(ctx, in.Env.list, in.IssueID, call.Now)
}

func (e tracking) findIn(ctx context.Context, environments []domain.Environment, id string, now time.Time) (domain.Environment, issue.Issue, error) {
	number, ok := occurrence.ParseIssueID(id)
	for _, env := range environments {
		if !ok {
			break
		}
		issue, err := e.issues.FindIssue(ctx, env, number, now)
		if domain.CodeOf(err) != domain.CodeNotFound || err == nil {
			return env, issue, err
		}
	}
	return domain.Environment{}, issue.Issue{}, domain.NotFound("issue")
}

// issueDetail is the answer of …/errors/{issueId}.
type issueDetail struct {
	issueJSON
	Daily             []errorDay     `json:"daily" observed:"true" doc:"The last thirty days, the oldest first."`
	Releases          []issueRelease `json:"releases" observed:"true" doc:"The releases in which it occurred, the latest first."`
	Tags              []issueTag     `json:"tags" observed:"true" doc:"The most frequent values of each tag among the latest 5000 occurrences."`
	Assignee          *assignee      `json:"assignee"`
	ResolvedAt        *route.Time    `json:"resolvedAt"`
	ResolvedInRelease *string        `json:"resolvedInRelease"`
	IgnoreUntil       *route.Time    `json:"ignoreUntil"`
	RegressedAt       *route.Time    `json:"regressedAt"`
	Merged            []string       `json:"merged" doc:"The ids of the issues that are part of this one."`
	Environment       string         `json:"environment"`
}

// issueRelease is one release in which an issue occurred.
type issueRelease struct {
	Release     string     `json:"release"`
	EventCount  uint64     `json:"eventCount"`
	FirstSeenAt route.Time `json:"firstSeenAt"`
	LastSeenAt  route.Time `json:"lastSeenAt"`
}

// issueTag is the distribution of the values of a tag.
type issueTag struct {
	Key    string          `json:"key"`
	Values []issueTagValue `json:"values"`
}

// issueTagValue is one value of a tag.
type issueTagValue struct {
	Value string `json:"value"`
	Count uint64 `json:"count"`
}

// assignee is the member to whom an issue is assigned; the name is null if the person has left.
type assignee struct {
	ID   string  `json:"id"`
	Name *string `json:"name"`
}

func (e tracking) get(ctx context.Context, call *route.Call, in issuePath) (issueDetail, error) {
	env, found, err := e.find(ctx, call, in)
	if err != nil {
		return issueDetail{}, err
	}
	detail, err := e.issues.Issue(ctx, issue.Scope{
		Environment: env, Number: found.Key.Number, Days: issue.LastDays(call.Now, issue.Days, call.App.Location()), Now: call.Now,
	})
	if err != nil {
		return issueDetail{}, err
	}
	if !call.Grant.May(domain.PermPeoplePIIRead) {
		detail.Mask()
	}
	shown := issueDetailOf(&detail)
	shown.Environment = env.Slug
	shown.Assignee, err = e.assignee(ctx, in.Org, detail.State.AssigneeID)
	return shown, err
}

func issueDetailOf(d *issue.Detail) issueDetail {
	return issueDetail{
		issueJSON: issueOf(&d.Issue), Daily: api.Convert(d.Daily, errorDayOf),
		Releases: api.Convert(d.Releases, func(r *issue.Release) issueRelease {
			return issueRelease{Release: r.Release, EventCount: r.Events, FirstSeenAt: route.Time(r.FirstSeenAt), LastSeenAt: route.Time(r.LastSeenAt)}
		}),
		Tags: api.Convert(d.Tags, func(t *issue.Tag) issueTag {
			return issueTag{Key: t.Key, Values: api.Convert(t.Values, func(v *issue.TagValue) issueTagValue { return issueTagValue(*v) })}
		}),
		ResolvedAt: route.TimeOf(d.State.ResolvedAt), ResolvedInRelease: api.OrNull(d.State.ResolvedInRelease),
		IgnoreUntil: route.TimeOf(d.State.IgnoreUntil), RegressedAt: route.TimeOf(d.State.RegressedAt),
		Merged: append([]string{}, d.State.Merged...),
	}
}

// assignee returns the member with an id, nil without one.
func (e tracking) assignee(ctx context.Context, org, id string) (*assignee, error) {
	if id == "" {
		return nil, nil
	}
	person, err := e.member(ctx, org, id)
	if err != nil {
		return nil, err
	}
	shown := &assignee{ID: id}
	if person != nil {
		shown.Name = api.OrNull(person.Name)
	}
	return shown, nil
}

// member returns the person with a member's id, nil if no member of the organization has it.
func (e tracking) member(ctx context.Context, org, id string) (*domain.User, error) {
	members, err := e.members.Members(ctx, org)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(members, func(m domain.Member) bool { return m.User.ID == id })
	if at < 0 {
		return nil, nil
	}
	return &members[at].User, nil
}

type updateIssue struct {
	issuePath
	Body issuePatch `body:"json"`
}

// issuePatch is the body of PATCH …/errors/{issueId}; absent fields stay unchanged.
type issuePatch struct {
	Status            *issue.Status              `json:"status" doc:"unresolved is another word for open." enum:"resolved,ignored,open,unresolved"`
	AssigneeID        route.Nullable[string]     `json:"assigneeId" doc:"A member's id; null takes the assignee away."`
	ResolvedInRelease route.Nullable[string]     `json:"resolvedInRelease" doc:"The release that holds the fix, with the status resolved: older ones do not bring the issue back."`
	IgnoreUntil       route.Nullable[route.Time] `json:"ignoreUntil" doc:"When the issue opens again, with the status ignored."`
}

// patch returns the changes that the body requests.
func (body *issuePatch) patch() issue.Patch {
	patch := issue.Patch{Status: body.Status, ResolvedInRelease: body.ResolvedInRelease.Value}
	if body.AssigneeID.Set {
		patch.AssigneeID = new(string)
		if body.AssigneeID.Value != nil {
			patch.AssigneeID = body.AssigneeID.Value
		}
	}
	if body.IgnoreUntil.Value != nil {
		until := time.Time(*body.IgnoreUntil.Value)
		patch.IgnoreUntil = &until
	}
	return patch
}

// Check applies the rules of issues.
func (u *updateIssue) Check(call *route.Call) []domain.FieldError {
	patch := u.Body.patch()
	return patch.Validate(call.Now)
}

// changedIssue is the answer of PATCH …/errors/{issueId}.
type changedIssue struct {
	ID             string       `json:"id"`
	Title          string       `json:"title"`
	PreviousStatus issue.Status `json:"previousStatus"`
	Status         issue.Status `json:"status"`
}

// update changes an issue. The person that makes the change must be known: a token without a person is refused
// (contract 82).
func (e tracking) update(ctx context.Context, call *route.Call, in updateIssue) (changedIssue, error) {
	by, err := author(call)
	if err != nil {
		return changedIssue{}, err
	}
	env, found, err := e.find(ctx, call, in.issuePath)
	if err != nil {
		return changedIssue{}, err
	}
	patch := in.Body.patch()
	if err := e.assignable(ctx, in.Org, patch); err != nil {
		return changedIssue{}, err
	}
	change, err := e.changes.Change(ctx, env.Number, found.Key.Number, patch, by)
	if err != nil {
		return changedIssue{}, err
	}
	shown := shownIssue(call)(&found)
	return changedIssue{ID: shown.ID, Title: shown.Title, PreviousStatus: change.Previous, Status: change.Status}, nil
}

// author returns the person that changes an issue. It fails with forbidden for a token without a person.
func author(call *route.Call) (issue.Author, error) {
	user := call.Grant.Token.User
	if user == nil {
		return issue.Author{}, &domain.Error{
			Code: domain.CodeForbidden, Reason: "user_bound_token_required", Message: "The token is bound to no person; issues are changed by people.",
		}
	}
	return issue.Author{ID: user.ID, Name: user.Name}, nil
}

// assignable fails with invalid_request if a patch assigns a person that is not a member.
func (e tracking) assignable(ctx context.Context, org string, patch issue.Patch) error {
	if patch.AssigneeID == nil || *patch.AssigneeID == "" {
		return nil
	}
	person, err := e.member(ctx, org, *patch.AssigneeID)
	if err == nil && person == nil {
		err = domain.Invalid(domain.FieldError{Field: "assigneeId", Code: "unknown_member", Message: "The assignee is no member of the organization."})
	}
	return err
}
