package svc

import (
	"fmt"
	"slices"
	"time"
)

// CampaignAction is a member's command to a campaign.
type CampaignAction string

// The actions of console.campaigns.control.
const (
	CampaignSchedule CampaignAction = "schedule"
	CampaignSend     CampaignAction = "send"
	CampaignPause    CampaignAction = "pause"
	CampaignResume   CampaignAction = "resume"
	CampaignCancel   CampaignAction = "cancel"
)

// Values lists the actions.
func (CampaignAction) Values() []CampaignAction {
	return []CampaignAction{CampaignSchedule, CampaignSend, CampaignPause, CampaignResume, CampaignCancel}
}

// campaignMoves returns the transitions of contract 70: from a status to its possible successors.
func campaignMoves() map[CampaignStatus][]CampaignStatus {
	return map[CampaignStatus][]CampaignStatus{
		CampaignDraft:     {CampaignPending},
		CampaignPending:   {CampaignApproved, CampaignDraft},
		CampaignApproved:  {CampaignScheduled, CampaignSending},
		CampaignScheduled: {CampaignSending, CampaignCanceled},
		CampaignSending:   {CampaignPaused, CampaignCompleted, CampaignFailed},
		CampaignPaused:    {CampaignSending, CampaignCanceled},
	}
}

// Follows reports whether a status may follow another one.
func (s CampaignStatus) Follows(before CampaignStatus) bool {
	return slices.Contains(campaignMoves()[before], s)
}

// Over reports whether the status is final.
func (s CampaignStatus) Over() bool { return len(campaignMoves()[s]) == 0 }

// Target returns the status to which an action leads, and the statuses in which it is allowed.
func (a CampaignAction) Target() (to CampaignStatus, from []CampaignStatus) {
	switch a {
	case CampaignSchedule:
		return CampaignScheduled, []CampaignStatus{CampaignApproved}
	case CampaignSend:
		return CampaignSending, []CampaignStatus{CampaignApproved, CampaignScheduled}
	case CampaignPause:
		return CampaignPaused, []CampaignStatus{CampaignSending}
	case CampaignResume:
		return CampaignSending, []CampaignStatus{CampaignPaused}
	case CampaignCancel:
		return CampaignCanceled, []CampaignStatus{CampaignScheduled, CampaignPaused}
	}
	return "", nil
}

// wrongStatus returns the refusal of a command that the present status does not permit.
func (c *Mailing) wrongStatus(what string) error {
	return &Error{Code: CodeConflict, Reason: "wrong_status", Message: fmt.Sprintf("The campaign is %s, so it cannot be %s.", c.Status, what)}
}

// Edited returns the campaign with a new specification and the hash of its content, by a member. Only a draft can be
// edited.
func (c Mailing) Edited(spec CampaignSpec, hash string, by LedgerActor, now time.Time) (Mailing, error) {
	if c.Status != CampaignDraft {
		return c, c.wrongStatus("edited")
	}
	c.CampaignSpec, c.ContentHash = spec, hash
	return c.touched(by, now), nil
}

// touched records a change by a member, who may then no longer approve the campaign.
func (c Mailing) touched(by LedgerActor, now time.Time) Mailing {
	if !slices.Contains(c.Editors, by.ID) {
		c.Editors = append(slices.Clone(c.Editors), by.ID)
	}
	c.Revision, c.UpdatedAt = c.Revision+1, now
	return c
}

// Submitted returns the campaign in the status in which it waits for a second operator.
func (c Mailing) Submitted(by LedgerActor, now time.Time) (Mailing, error) {
	if !CampaignPending.Follows(c.Status) {
		return c, c.wrongStatus("submitted")
	}
	c = c.touched(by, now)
	c.Status, c.SubmittedAt, c.Decision = CampaignPending, now, nil
	return c, nil
}

// Decided returns the campaign after the decision of a second operator: approved, or a draft again.
func (c Mailing) Decided(decision CampaignDecision) (Mailing, error) {
	if c.Status != CampaignPending {
		return c, c.wrongStatus("decided about")
	}
	if decision.Approved && slices.Contains(c.Editors, decision.By.ID) {
		return c, &Error{Code: CodeForbidden, Reason: "own_campaign", Message: "Another member approves a campaign than those who wrote or submitted it."}
	}
	c.Status = CampaignDraft
	if decision.Approved {
		c.Status = CampaignApproved
	}
	c.Decision, c.Revision, c.UpdatedAt = &decision, c.Revision+1, decision.At
	return c, nil
}

// Controlled returns the campaign after an action; at is the beginning of a scheduled campaign.
func (c Mailing) Controlled(action CampaignAction, at, now time.Time) (Mailing, error) {
	to, from := action.Target()
	if !slices.Contains(from, c.Status) {
		return c, c.wrongStatus(map[CampaignAction]string{
			CampaignSchedule: "scheduled", CampaignSend: "sent", CampaignPause: "paused", CampaignResume: "resumed", CampaignCancel: "canceled",
		}[action])
	}
	if action == CampaignSchedule {
		c.ScheduledAt = at
	}
	return c.Moved(to, now), nil
}

// Moved returns the campaign in a status that may follow the present one.
func (c Mailing) Moved(to CampaignStatus, now time.Time) Mailing {
	if to == CampaignSending && c.StartedAt.IsZero() {
		c.StartedAt = now
	}
	if to.Over() {
		c.CompletedAt = now
	}
	c.Status, c.Revision, c.UpdatedAt = to, c.Revision+1, now
	return c
}
