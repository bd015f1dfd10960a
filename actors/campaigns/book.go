package campaigns

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/campaign"
)

// The campaigns actor.
//
//	identity   org/app, the two slugs
//	rank       1
//	owns       the definitions of the application's campaigns and the decisions about them
//	persists   entities campaign
//	woken by   calls only
//	limits     campaign.MaxCampaigns campaigns; campaign.MaxCampaignsSending of them at the same time in sending
//	stops      after ten minutes without a message
const kindBook = "campaigns"

// kindCampaign is the kind of its entities.
const kindCampaign = "campaign"

type book struct{ campaigns map[string]campaign.Mailing }

type (
	findCampaign struct {
		ID string `json:"id"`
	}
	// editCampaign replaces the definition by authors. Revision is the one that they have read.
	editCampaign struct {
		ID            string             `json:"id"`
		Spec          campaign.Spec      `json:"spec"`
		Hash          string             `json:"hash"`
		RetentionDays int                `json:"retentionDays"`
		By            domain.LedgerActor `json:"by"`
		Revision      uint64             `json:"revision"`
	}
	submitCampaign struct {
		ID       string             `json:"id"`
		By       domain.LedgerActor `json:"by"`
		Revision uint64             `json:"revision"`
	}
	decideCampaign struct {
		ID       string            `json:"id"`
		Decision campaign.Decision `json:"decision"`
		Revision uint64            `json:"revision"`
	}
	controlCampaign struct {
		ID       string          `json:"id"`
		Action   campaign.Action `json:"action"`
		At       time.Time       `json:"at,omitzero"`
		Revision uint64          `json:"revision"`
	}
	// finishCampaign is the report of the sender: completed, or failed if there is a problem.
	finishCampaign struct {
		ID      string `json:"id"`
		Problem string `json:"problem"`
	}
)

var bookKind = grain.NewKind[*book](kindBook, 1, 10*time.Minute)

// The methods of the campaigns actor.
var (
	bookList    = grain.On(bookKind, "list", (*book).onList, grain.Repeatable)
	bookGet     = grain.On(bookKind, "get", (*book).onGet, grain.Repeatable)
	bookCreate  = grain.On(bookKind, "create", (*book).onCreate)
	bookEdit    = grain.On(bookKind, "edit", (*book).onEdit)
	bookSubmit  = grain.On(bookKind, "submit", (*book).onSubmit)
	bookDecide  = grain.On(bookKind, "decide", (*book).onDecide)
	bookControl = grain.On(bookKind, "control", (*book).onControl)
	bookBegin   = grain.On(bookKind, "begin", (*book).onBegin, grain.Repeatable)
	bookFinish  = grain.On(bookKind, "finish", (*book).onFinish, grain.Repeatable)
)

// Kinds returns the kinds of this package for the actors of a node.
func Kinds(node *grain.Node, ports *Ports) []cluster.Kind {
	return []cluster.Kind{
		bookKind.Row(node, func(string) *book { return &book{} }),
		senderRow(node, ports),
		tallyKind.Row(node, func(string) *tally { return &tally{} }),
		suppressionsKind.Row(node, func(string) *suppressions { return &suppressions{} }),
	}
}

// Restore reads the campaigns.
func (b *book) Restore(entities []domain.Entity) error {
	var err error
	b.campaigns, err = grain.DecodeAll[campaign.Mailing](entities)
	return err
}

func (b *book) onList(time.Time, grain.None) (grain.Outcome[[]campaign.Mailing], error) {
	return grain.Answer(slices.SortedFunc(maps.Values(b.campaigns), func(x, y campaign.Mailing) int {
		return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(y.ID, x.ID))
	})), nil
}

func (b *book) onGet(_ time.Time, m findCampaign) (grain.Outcome[campaign.Mailing], error) {
	found, err := b.find(m.ID, 0)
	return grain.Answer(found), err
}

// find returns a campaign of a revision; zero means any.
func (b *book) find(id string, revision uint64) (campaign.Mailing, error) {
	found, known := b.campaigns[id]
	switch {
	case !known:
		return found, domain.NotFound("campaign")
	case revision != 0 && revision != found.Revision:
		return found, domain.Errorf(domain.CodePrecondition, "The campaign was changed meanwhile; read it again.")
	}
	return found, nil
}

// onCreate adds a draft that the client has validated.
func (b *book) onCreate(_ time.Time, m campaign.Mailing) (grain.Outcome[campaign.Mailing], error) {
	if known, found := b.campaigns[m.ID]; found {
		return grain.Again(known), nil
	}
	if len(b.campaigns) >= campaign.MaxCampaigns {
		return grain.Outcome[campaign.Mailing]{}, &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("The application has %d campaigns already.", campaign.MaxCampaigns)}
	}
	return b.put(m, nil)
}

func (b *book) onEdit(now time.Time, m editCampaign) (grain.Outcome[campaign.Mailing], error) {
	found, err := b.find(m.ID, m.Revision)
	if err != nil {
		return grain.Outcome[campaign.Mailing]{}, err
	}
	edited, err := found.Edited(m.Spec, m.Hash, m.By, now)
	edited.RetentionDays = m.RetentionDays
	return b.put(edited, err)
}

func (b *book) onSubmit(now time.Time, m submitCampaign) (grain.Outcome[campaign.Mailing], error) {
	found, err := b.find(m.ID, m.Revision)
	if err != nil {
		return grain.Outcome[campaign.Mailing]{}, err
	}
	return b.put(found.Submitted(m.By, now))
}

func (b *book) onDecide(now time.Time, m decideCampaign) (grain.Outcome[campaign.Mailing], error) {
	found, err := b.find(m.ID, m.Revision)
	if err != nil {
		return grain.Outcome[campaign.Mailing]{}, err
	}
	m.Decision.At = now
	return b.put(found.Decided(m.Decision))
}

func (b *book) onControl(now time.Time, m controlCampaign) (grain.Outcome[campaign.Mailing], error) {
	found, err := b.find(m.ID, m.Revision)
	if err != nil {
		return grain.Outcome[campaign.Mailing]{}, err
	}
	moved, err := found.Controlled(m.Action, m.At, now)
	if err == nil && moved.Status == campaign.Sending && b.sending() >= campaign.MaxCampaignsSending {
		err = &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("The application is sending %d campaigns already.", campaign.MaxCampaignsSending)}
	}
	return b.put(moved, err)
}

// sending counts the campaigns that are being sent.
func (b *book) sending() (count int) {
	for _, one := range b.campaigns {
		if one.Status == campaign.Sending {
			count++
		}
	}
	return count
}

// onBegin starts the sending of a scheduled campaign if it is due and the limit allows it. It returns the current
// campaign.
func (b *book) onBegin(now time.Time, m findCampaign) (grain.Outcome[campaign.Mailing], error) {
	found, err := b.find(m.ID, 0)
	if err != nil || found.Status != campaign.Scheduled || now.Before(found.ScheduledAt) || b.sending() >= campaign.MaxCampaignsSending {
		return grain.Answer(found), err
	}
	return b.put(found.Moved(campaign.Sending, now), nil)
}

// onFinish ends the sending of a campaign; repeating it changes nothing.
func (b *book) onFinish(now time.Time, m finishCampaign) (grain.Outcome[campaign.Mailing], error) {
	found, err := b.find(m.ID, 0)
	if err != nil || found.Status != campaign.Sending {
		return grain.Answer(found), err
	}
	to := campaign.Completed
	if m.Problem != "" {
		to = campaign.Failed
	}
	found.Problem = m.Problem
	return b.put(found.Moved(to, now), nil)
}

// put stores a campaign, unless there is an error.
func (b *book) put(m campaign.Mailing, err error) (grain.Outcome[campaign.Mailing], error) {
	if err != nil {
		return grain.Outcome[campaign.Mailing]{}, err
	}
	b.campaigns[m.ID] = m
	return grain.Answer(m, grain.Put(kindCampaign, m.ID, m)), nil
}
