package campaigns

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"svc/domain"
	"svc/domain/campaign"
	"svc/domain/person"
	"svc/http/api"
	"svc/http/route"
)

// chosenAudience is the audience of a campaign in a body.
type chosenAudience struct {
	Kind      campaign.AudienceKind `json:"kind" required:"true" doc:"all, segment, or list."`
	SegmentID string                `json:"segmentId" doc:"Of an audience of kind segment."`
	PersonIDs []string              `json:"personIds" doc:"The people of an audience of kind list, at most 10000."`
}

// audience returns the audience, or problems for invalid ids.
func (c *chosenAudience) audience() (chosen campaign.Audience, problems []domain.FieldError) {
	chosen = campaign.Audience{Kind: c.Kind, SegmentID: c.SegmentID}
	for i, id := range c.PersonIDs {
		member, ok := person.ParsePersonID(id)
		if !ok {
			problems = append(problems, domain.FieldError{Field: fmt.Sprintf("audience.personIds[%d]", i), Code: "invalid_value", Message: fmt.Sprintf("%q is no id of a person.", id)})
		}
		chosen.Members = append(chosen.Members, member)
	}
	return chosen, problems
}

// campaignBody contains the fields of a campaign in a body; absent fields stay unchanged or have their default.
type campaignBody struct {
	Name          *string             `json:"name" doc:"The name that members read."`
	Channels      *[]campaign.Channel `json:"channels" doc:"One channel; email where it is absent. The others have no sender."`
	Audience      *chosenAudience     `json:"audience" doc:"Everybody where it is absent."`
	RatePerSecond *int                `json:"ratePerSecond" doc:"Messages a second, 20 where it is absent."`
	HourlyBudget  *int                `json:"hourlyBudget" doc:"Messages an hour; 0 is no bound."`
	From          *campaign.Sender    `json:"from" doc:"The sender that recipients see."`
	ReplyTo       *string             `json:"replyTo" doc:"Where answers go; to the sender where it is empty."`
	Subject       *string             `json:"subject"`
	Preheader     *string             `json:"preheader" doc:"What inboxes show beside the subject."`
	Text          *string             `json:"text" doc:"The message as plain text. Placeholders: {{name}}, {{firstName}}, {{email}}, {{unsubscribeUrl}}; {{name|friend}} says what stands there where the name is not known."`
	HTML          *string             `json:"html" doc:"The message as HTML, with the same placeholders."`
}

// patch returns the change that the body requests.
func (b *campaignBody) patch() (patch campaign.Patch, problems []domain.FieldError) {
	patch = campaign.Patch{
		Name: b.Name, Channels: b.Channels, Rate: b.RatePerSecond, Budget: b.HourlyBudget, From: b.From, ReplyTo: b.ReplyTo, Subject: b.Subject, Preheader: b.Preheader, Text: b.Text, HTML: b.HTML,
	}
	if b.Audience != nil {
		var chosen campaign.Audience
		chosen, problems = b.Audience.audience()
		patch.Audience = &chosen
	}
	return patch, problems
}

type createCampaign struct {
	api.AppPath
	Body newCampaign `body:"json"`
}

// newCampaign is the body of POST …/campaigns.
type newCampaign struct {
	campaignBody
	Environment string `json:"environment" doc:"The environment of the people; production where it is absent."`
}

// Check refuses invalid ids.
func (c *createCampaign) Check(*route.Call) []domain.FieldError {
	_, problems := c.Body.patch()
	return problems
}

func (c campaigns) create(ctx context.Context, call *route.Call, in createCampaign) (shownCampaign, error) {
	by, err := actorOf(call)
	if err != nil {
		return shownCampaign{}, err
	}
	patch, _ := in.Body.patch()
	made, err := c.campaigns.Create(ctx, &call.App, campaign.Spec{Environment: in.Body.Environment}.With(patch), by)
	if err != nil {
		return shownCampaign{}, err
	}
	call.Created("/apps/" + call.Ref().String() + "/campaigns/" + made.ID)
	return c.shown(ctx, call, &made)
}

type updateCampaign struct {
	campaignPath
	Body campaignBody `body:"json"`
}

// Check refuses an empty body and invalid ids.
func (u *updateCampaign) Check(*route.Call) []domain.FieldError {
	if reflect.ValueOf(u.Body).IsZero() {
		return []domain.FieldError{{Code: "empty_body", Message: "The body changes nothing; send name, channels, audience, from, subject or another member."}}
	}
	_, problems := u.Body.patch()
	return problems
}

// present returns the revision that the caller requires, 0 for any.
func (c campaigns) present(ctx context.Context, call *route.Call, id string) (uint64, error) {
	found, err := c.campaigns.Get(ctx, call.Ref(), id)
	if err != nil {
		return 0, err
	}
	wanted, err := call.IfMatch(found.Revision)
	if err != nil || wanted == nil {
		return 0, err
	}
	return *wanted, nil
}

func (c campaigns) update(ctx context.Context, call *route.Call, in updateCampaign) (shownCampaign, error) {
	by, err := actorOf(call)
	if err != nil {
		return shownCampaign{}, err
	}
	revision, err := c.present(ctx, call, in.ID)
	if err != nil {
		return shownCampaign{}, err
	}
	patch, _ := in.Body.patch()
	changed, err := c.campaigns.Update(ctx, &call.App, in.ID, patch, revision, by)
	if err != nil {
		return shownCampaign{}, err
	}
	return c.shown(ctx, call, &changed)
}

func (c campaigns) submit(ctx context.Context, call *route.Call, in campaignPath) (shownCampaign, error) {
	by, err := actorOf(call)
	if err != nil {
		return shownCampaign{}, err
	}
	revision, err := c.present(ctx, call, in.ID)
	if err != nil {
		return shownCampaign{}, err
	}
	changed, err := c.campaigns.Submit(ctx, call.Ref(), in.ID, revision, by)
	if err != nil {
		return shownCampaign{}, err
	}
	return c.shown(ctx, call, &changed)
}

// maxReason is the maximum length of a reason in bytes.
const maxReason = 1000

// verdict is the decision of a second member.
type verdict string

// The verdicts.
const (
	approve  verdict = "approve"
	giveBack verdict = "return"
)

// Values returns the verdicts, for descriptions.
func (verdict) Values() []verdict { return []verdict{approve, giveBack} }

type decideCampaign struct {
	campaignPath
	Body decideBody `body:"json"`
}

// decideBody is the body of POST …/campaigns/{id}/decide.
type decideBody struct {
	Decision verdict `json:"decision" required:"true" doc:"approve, or return."`
	Revision uint64  `json:"revision" required:"true" doc:"The revision that was read; another one is refused."`
	Reason   string  `json:"reason" doc:"Why the campaign is returned."`
}

// Check refuses an unknown verdict, and a return without a reason.
func (d *decideCampaign) Check(*route.Call) (problems []domain.FieldError) {
	switch {
	case d.Body.Decision != approve && d.Body.Decision != giveBack:
		problems = append(problems, api.UnknownWord("decision", "decision", string(d.Body.Decision), api.Words(approve.Values())))
	case d.Body.Decision == giveBack && d.Body.Reason == "":
		problems = append(problems, domain.FieldError{Field: "reason", Code: "required", Message: "Say why the campaign is returned."})
	}
	if len(d.Body.Reason) > maxReason {
		problems = append(problems, domain.FieldError{Field: "reason", Code: "too_long", Message: fmt.Sprintf("The reason is longer than %d bytes.", maxReason)})
	}
	if d.Body.Revision == 0 {
		problems = append(problems, domain.FieldError{Field: "revision", Code: "invalid_value", Message: "Revisions begin with 1."})
	}
	return problems
}

// decide approves or returns a campaign. An approval requires a recent sign-in with a passkey.
func (c campaigns) decide(ctx context.Context, call *route.Call, in decideCampaign) (shownCampaign, error) {
	by, err := actorOf(call)
	if err != nil {
		return shownCampaign{}, err
	}
	if in.Body.Decision == approve {
		if err := api.FreshPasskey(call); err != nil {
			return shownCampaign{}, err
		}
		call.Happened("campaign.approved")
	}
	changed, err := c.campaigns.Decide(ctx, call.Ref(), in.ID, in.Body.Revision, campaign.Decision{By: by, Approved: in.Body.Decision == approve, Reason: in.Body.Reason})
	if err != nil {
		return shownCampaign{}, err
	}
	return c.shown(ctx, call, &changed)
}

type controlCampaign struct {
	campaignPath
	Body controlBody `body:"json"`
}

// controlBody is the body of POST …/campaigns/{id}/control.
type controlBody struct {
	Action campaign.Action `json:"action" required:"true" doc:"schedule, send, pause, resume or cancel."`
	At     string          `json:"at" doc:"When a scheduled campaign begins: 2026-12-24T09:00 in the application's time zone, or an instant with a zone."`
}

// at returns the begin of a scheduled campaign.
func (b *controlBody) at(call *route.Call) (time.Time, *domain.FieldError) {
	if (b.At != "") != (b.Action == campaign.Schedule) {
		return time.Time{}, &domain.FieldError{Field: "at", Code: "required", Message: "The action schedule, and no other, says when the campaign begins."}
	}
	if b.At == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, b.At)
	if err != nil {
		var zone *time.Location
		if zone, err = time.LoadLocation(call.App.Timezone); err != nil {
			zone = time.UTC
		}
		if at, err = time.ParseInLocation("2006-01-02T15:04", b.At, zone); err != nil {
			at, err = time.ParseInLocation("2006-01-02T15:04:05", b.At, zone)
		}
	}
	switch {
	case err != nil:
		return at, &domain.FieldError{Field: "at", Code: "invalid_value", Message: "It is no time such as 2026-12-24T09:00 or 2026-12-24T09:00:00Z."}
	case !at.After(call.Now):
		return at, &domain.FieldError{Field: "at", Code: "out_of_range", Message: "It is over; send the campaign instead."}
	case at.Sub(call.Now) > campaign.MaxCampaignAhead:
		return at, &domain.FieldError{Field: "at", Code: "out_of_range", Message: "A campaign begins within 366 days."}
	}
	return at.UTC().Truncate(time.Millisecond), nil
}

// Check refuses an unknown action, and times that do not match it.
func (c *controlCampaign) Check(call *route.Call) []domain.FieldError {
	if to, _ := c.Body.Action.Target(); to == "" {
		return []domain.FieldError{api.UnknownWord("action", "action", string(c.Body.Action), api.Words(c.Body.Action.Values()))}
	}
	if _, problem := c.Body.at(call); problem != nil {
		return []domain.FieldError{*problem}
	}
	return nil
}

func (c campaigns) control(ctx context.Context, call *route.Call, in controlCampaign) (shownCampaign, error) {
	if _, err := actorOf(call); err != nil {
		return shownCampaign{}, err
	}
	revision, err := c.present(ctx, call, in.ID)
	if err != nil {
		return shownCampaign{}, err
	}
	at, _ := in.Body.at(call)
	call.Happened(ledgerOf(in.Body.Action))
	changed, err := c.campaigns.Control(ctx, call.Ref(), in.ID, in.Body.Action, at, revision)
	if err != nil {
		return shownCampaign{}, err
	}
	return c.shown(ctx, call, &changed)
}

// ledgerOf returns the kind of ledger entry of an action.
func ledgerOf(action campaign.Action) domain.LedgerKind {
	switch action {
	case campaign.Schedule:
		return "campaign.scheduled"
	case campaign.Send:
		return "campaign.sent"
	case campaign.Pause:
		return "campaign.paused"
	case campaign.Resume:
		return "campaign.resumed"
	case campaign.Cancel:
		return "campaign.canceled"
	}
	return "campaign.controlled"
}
