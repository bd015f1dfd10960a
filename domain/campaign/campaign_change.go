package campaign

import (
	"fmt"
	"slices"
	"time"

	"svc/domain"
)

// Action is a member's command to a campaign.
type Action string

// The actions of console.campaigns.control.
const (
	Schedule Action = "schedule"
	Send     Action = "send"
	Pause    Action = "pause"
	Resume   Action = "resume"
	Cancel   Action = "cancel"
)

// Values lists the actions.
func (Action) Values() []Action {
	return []Action{Schedule, Send, Pause, Resume, Cancel}
}

// campaignMoves returns the transitions of contract 70: from a status to its possible successors.
func campaignMoves() map[Status][]Status {
	return map[Status][]Status{
		Draft:     {Pending},
		Pending:   {Approved, Draft},
		Approved:  {Scheduled, Sending},
		Scheduled: {Sending, Canceled},
		Sending:   {Paused, Completed, Failed},
		Paused:    {Sending, Canceled},
	}
}

// Follows reports whether a status may follow another one.
func (s Status) Follows(before Status) bool {
	return slices.Contains(campaignMoves()[before], s)
}

// Over reports whether the status is final.
func (s Status) Over() bool { return len(campaignMoves()[s]) == 0 }

// Target returns the status to which an action leads, and the statuses in which it is allowed.
func (a Action) Target() (to Status, from []Status) {
	switch a {
	case Schedule:
		return Scheduled, []Status{Approved}
	case Send:
		return Sending, []Status{Approved, Scheduled}
	case Pause:
		return Paused, []Status{Sending}
	case Resume:
		return Sending, []Status{Paused}
	case Cancel:
		return Canceled, []Status{Scheduled, Paused}
	}
	return "", nil
}

// wrongStatus returns the refusal of a command that the present status does not permit.
func (c *Mailing) wrongStatus(what string) error {
	return &domain.Error{Code: domain.CodeConflict, Reason: "wrong_status", Message: fmt.Sprintf("The campaign is %s, so it cannot be %s.", c.Status, what)}
}

// Edited returns the campaign with a new specification and the hash of its content, by a member. Only a draft can be
// edited.
func (c Mailing) Edited(spec Spec, hash string, by domain.LedgerActor, now time.Time) (Mailing, error) {
	if c.Status != Draft {
		return c, c.wrongStatus("edited")
	}
	c.Spec, c.ContentHash = spec, hash
	return c.touched(by, now), nil
}

// touched records a change by a member, who may then no longer approve the campaign.
func (c Mailing) touched(by domain.LedgerActor, now time.Time) Mailing {
	if !slices.Contains(c.Editors, by.ID) {
		c.Editors = append(slices.Clone(c.Editors), by.ID)
	}
	c.Revision, c.UpdatedAt = c.Revision+1, now
	return c
}

// Submitted returns the campaign in the status in which it waits for a second operator.
func (c Mailing) Submitted(by domain.LedgerActor, now time.Time) (Mailing, error) {
	if !Pending.Follows(c.Status) {
		return c, c.wrongStatus("submitted")
	}
	c = c.touched(by, now)
	c.Status, c.SubmittedAt, c.Decision = Pending, now, nil
	return c, nil
}

// Decided returns the campaign after the decision of a second operator: approved, or a draft again.
func (c Mailing) Decided(decision Decision) (Mailing, error) {
	if c.Status != Pending {
		return c, c.wrongStatus("decided about")
	}
	if decision.Approved && slices.Contains(c.Editors, decision.By.ID) {
		return c, &domain.Error{Code: domain.CodeForbidden, Reason: "own_campaign", Message: "Another member approves a campaign than those who wrote or submitted it."}
	}
	c.Status = Draft
	if decision.Approved {
		c.Status = Approved
	}
	c.Decision, c.Revision, c.UpdatedAt = &decision, c.Revision+1, decision.At
	return c, nil
}

// Controlled returns the campaign after an action; at is the beginning of a scheduled campaign.
func (c Mailing) Controlled(action Action, at, now time.Time) (Mailing, error) {
	to, from := action.Target()
	if !slices.Contains(from, c.Status) {
		return c, c.wrongStatus(map[Action]string{
			Schedule: "scheduled", Send: "sent", Pause: "paused", Resume: "resumed", Cancel: "canceled",
		}[action])
	}
	if action == Schedule {
		c.ScheduledAt = at
	}
	return c.Moved(to, now), nil
}

// Moved returns the campaign in a status that may follow the present one.
func (c Mailing) Moved(to Status, now time.Time) Mailing {
	if to == Sending && c.StartedAt.IsZero() {
		c.StartedAt = now
	}
	if to.Over() {
		c.CompletedAt = now
	}
	c.Status, c.Revision, c.UpdatedAt = to, c.Revision+1, now
	return c
}
