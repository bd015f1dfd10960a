package campaigns

import (
	"context"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/campaign"
	"svc/http/api"
	"svc/http/route"
	"svc/http/views"
)

// campaignAudience is the audience of a campaign as answers show it.
type campaignAudience struct {
	Kind      campaign.AudienceKind `json:"kind" open:"true"`
	SegmentID string                `json:"segmentId,omitempty" doc:"Of an audience of kind segment."`
	Size      *int                  `json:"size,omitempty" doc:"How many people an audience of kind list names."`
}

// audienceSnapshot is the audience as it was when the sending began.
type audienceSnapshot struct {
	Size    int        `json:"size"`
	TakenAt route.Time `json:"takenAt"`
}

// campaignCounts are the statistics of a row of the list.
type campaignCounts struct {
	Sent      int `json:"sent"`
	Delivered int `json:"delivered" doc:"Messages that the mail server accepted."`
	Opened    int `json:"opened" doc:"Recipients who loaded the images; others may have read the message too."`
	Clicked   int `json:"clicked" doc:"Recipients who followed a link."`
	Failed    int `json:"failed"`
}

// listedCampaign is a campaign as lists show it.
type listedCampaign struct {
	ID               string             `json:"id"`
	Name             string             `json:"name"`
	Status           campaign.Status    `json:"status" open:"true"`
	Environment      string             `json:"environment"`
	Channels         []campaign.Channel `json:"channels" open:"true"`
	Audience         campaignAudience   `json:"audience"`
	AudienceSnapshot *audienceSnapshot  `json:"audienceSnapshot" doc:"Null before the sending has begun, and while the audience is being read."`
	ScheduledAt      *route.Time        `json:"scheduledAt"`
	StartedAt        *route.Time        `json:"startedAt"`
	CompletedAt      *route.Time        `json:"completedAt"`
	CreatedAt        route.Time         `json:"createdAt"`
	UpdatedAt        route.Time         `json:"updatedAt"`
	Stats            campaignCounts     `json:"stats"`
}

func timeOrNull(at time.Time) *route.Time {
	if at.IsZero() {
		return nil
	}
	return route.TimeOf(&at)
}

func campaignOf(m *campaign.Mailing, progress *campaign.Progress) listedCampaign {
	row := listedCampaign{
		ID: m.ID, Name: m.Name, Status: m.Status, Environment: m.Environment, Channels: m.Channels, Audience: campaignAudience{Kind: m.Audience.Kind, SegmentID: m.Audience.SegmentID},
		ScheduledAt: timeOrNull(m.ScheduledAt), StartedAt: timeOrNull(m.StartedAt), CompletedAt: timeOrNull(m.CompletedAt), CreatedAt: route.Time(m.CreatedAt), UpdatedAt: route.Time(m.UpdatedAt),
		Stats: campaignCounts{Sent: progress.Sent, Delivered: progress.Sent, Opened: progress.Opened, Clicked: progress.Clicked, Failed: progress.Failures.Sum()},
	}
	if m.Audience.Kind == campaign.AudienceList {
		size := len(m.Audience.Members)
		row.Audience.Size = &size
	}
	if !progress.TakenAt.IsZero() {
		row.AudienceSnapshot = &audienceSnapshot{progress.Size, route.Time(progress.TakenAt)}
	}
	return row
}

type listCampaigns struct {
	api.AppPath
	api.Paging
	Env    api.Env      `query:"env" doc:"The environment."`
	Status wantedStatus `query:"status" doc:"Campaigns of this status only."`
}

// wantedStatus is the parameter status of the list; empty means all statuses.
type wantedStatus campaign.Status

func statusChoice() api.Choice {
	return api.Choice{Field: "status", What: "status of a campaign", Fallback: "all", Allowed: append(api.Words(campaign.Statuses()), "all")}
}

// Parse reads the status.
func (s *wantedStatus) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := statusChoice().Parse(words)
	if word != "all" {
		*s = wantedStatus(word)
	}
	return problems
}

// Schema describes the parameter.
func (wantedStatus) Schema() route.Schema { return statusChoice().Schema() }

// campaignPage is a page of campaigns.
type campaignPage struct {
	domain.Page[listedCampaign]
	Counts      map[string]int `json:"counts" doc:"How many campaigns of the environment have each status, and how many there are in all."`
	Environment string         `json:"environment"`
}

func (c campaigns) list(ctx context.Context, call *route.Call, in listCampaigns) (campaignPage, error) {
	all, err := c.campaigns.List(ctx, call.Ref())
	if err != nil {
		return campaignPage{}, err
	}
	keyset, err := call.Keyset(in.Cursor, 2)
	if err != nil {
		return campaignPage{}, err
	}
	answer := campaignPage{Counts: map[string]int{"all": 0}, Environment: in.Env.Slug}
	for _, status := range campaign.Statuses() {
		answer.Counts[string(status)] = 0
	}
	rows := []campaign.Mailing{}
	for i := range all {
		if all[i].Environment != in.Env.Slug {
			continue
		}
		answer.Counts[string(all[i].Status)]++
		answer.Counts["all"]++
		if in.Status != "" && all[i].Status != campaign.Status(in.Status) || keyset != nil && !follows(&all[i], keyset) {
			continue
		}
		rows = append(rows, all[i])
	}
	more := len(rows) > int(in.Limit)
	rows = rows[:min(len(rows), int(in.Limit))]
	progress, err := c.campaigns.Progress(ctx, call.Ref(), rows)
	if err != nil {
		return campaignPage{}, err
	}
	shown := make([]listedCampaign, len(rows))
	for i := range rows {
		shown[i] = campaignOf(&rows[i], &progress[i])
	}
	answer.Page = route.PageOf(call, shown, more, func(listedCampaign) []string { return placeOf(&rows[len(rows)-1]) })
	return answer, nil
}

// placeOf returns the position of a campaign in the list.
func placeOf(m *campaign.Mailing) []string {
	return []string{strconv.FormatInt(m.CreatedAt.UnixNano(), 10), m.ID}
}

// follows reports whether a campaign comes after a position, so it is older.
func follows(m *campaign.Mailing, keyset []string) bool {
	created, err := strconv.ParseInt(keyset[0], 10, 64)
	at := m.CreatedAt.UnixNano()
	return err == nil && (at < created || at == created && m.ID < keyset[1])
}

func authorOf(a domain.LedgerActor) views.Actor { return views.Actor{ID: a.ID, Name: a.Name} }

// campaignDecision is the decision of a second member.
type campaignDecision struct {
	By       views.Actor `json:"by"`
	At       route.Time  `json:"at"`
	Approved bool        `json:"approved"`
	Reason   *string     `json:"reason"`
}

// campaignDetails is a single campaign as answers show it.
type campaignDetails struct {
	listedCampaign
	From          campaign.Sender   `json:"from"`
	ReplyTo       *string           `json:"replyTo"`
	Subject       string            `json:"subject"`
	Preheader     string            `json:"preheader"`
	Text          string            `json:"text"`
	HTML          string            `json:"html"`
	RatePerSecond int               `json:"ratePerSecond"`
	HourlyBudget  *int              `json:"hourlyBudget" doc:"How many messages are sent an hour at most; null is no bound."`
	Revision      uint64            `json:"revision"`
	Author        views.Actor       `json:"author"`
	SubmittedAt   *route.Time       `json:"submittedAt"`
	Decision      *campaignDecision `json:"decision" doc:"The latest word of a second member; null where there is none."`
	Problem       *string           `json:"problem" doc:"Why the campaign failed: audience_gone, audience_too_large, content_invalid or sender_refused."`
	Waiting       *string           `json:"waiting" doc:"Why nothing is sent at the moment, in the words of the mail server; null where nothing is in the way."`
}

func detailsOf(m *campaign.Mailing, progress *campaign.Progress) campaignDetails {
	details := campaignDetails{
		listedCampaign: campaignOf(m, progress), From: m.Content.From, ReplyTo: api.OrNull(m.Content.ReplyTo), Subject: m.Content.Subject, Preheader: m.Content.Preheader, Text: m.Content.Text, HTML: m.Content.HTML,
		RatePerSecond: m.Rate, Revision: m.Revision, Author: authorOf(m.Author), SubmittedAt: timeOrNull(m.SubmittedAt), Problem: api.OrNull(m.Problem),
	}
	if m.Budget > 0 {
		details.HourlyBudget = &m.Budget
	}
	if m.Status == campaign.Sending {
		details.Waiting = api.OrNull(progress.Trouble)
	}
	if d := m.Decision; d != nil {
		details.Decision = &campaignDecision{By: authorOf(d.By), At: route.Time(d.At), Approved: d.Approved, Reason: api.OrNull(d.Reason)}
	}
	return details
}

// campaignStats are the statistics of one campaign.
type campaignStats struct {
	Queued    int `json:"queued"`
	Sent      int `json:"sent"`
	Delivered int `json:"delivered" doc:"Messages that the mail server accepted."`
	Opened    int `json:"opened"`
	Clicked   int `json:"clicked"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped" doc:"People of the audience to whom nothing is sent."`

	Failures campaign.Failures `json:"failures" doc:"Those that failed, by why."`
	Skips    campaign.Skips    `json:"skips" doc:"Those who are skipped, by why."`
}

// shownCampaign is the answer about one campaign.
type shownCampaign struct {
	Campaign campaignDetails `json:"campaign"`
	Stats    campaignStats   `json:"stats" doc:"Queued, sent, failed and skipped people are the audience."`
}

// shown returns the answer about a campaign, and tags it. The tag does not cover the statistics, which change without
// the campaign.
func (c campaigns) shown(ctx context.Context, call *route.Call, m *campaign.Mailing) (shownCampaign, error) {
	call.About(m.ID)
	call.Tag(m.Revision)
	call.Volatile()
	all, err := c.campaigns.Progress(ctx, call.Ref(), []campaign.Mailing{*m})
	if err != nil {
		return shownCampaign{}, err
	}
	p := &all[0]
	return shownCampaign{Campaign: detailsOf(m, p), Stats: campaignStats{
		Queued: p.Queued(), Sent: p.Sent, Delivered: p.Sent, Opened: p.Opened, Clicked: p.Clicked, Failed: p.Failures.Sum(), Skipped: p.Skips.Sum(), Failures: p.Failures, Skips: p.Skips,
	}}, nil
}

func (c campaigns) get(ctx context.Context, call *route.Call, in campaignPath) (shownCampaign, error) {
	found, err := c.campaigns.Get(ctx, call.Ref(), in.ID)
	if err != nil {
		return shownCampaign{}, err
	}
	return c.shown(ctx, call, &found)
}
