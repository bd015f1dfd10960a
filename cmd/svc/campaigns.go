package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"svc/actors/campaigns"
	"svc/actors/grain"
	"svc/actors/people"
	"svc/cluster"
	"svc/domain"
	"svc/domain/campaign"
	"svc/domain/person"
	"svc/domain/segment"
	campaignsapi "svc/http/api/campaigns"
	"svc/http/mailing"
	"svc/http/outbound"
	"svc/http/route"
)

// messaging holds the parts of the communications module.
type messaging struct {
	ports     *campaigns.Ports
	campaigns *campaigns.Campaigns
	mailer    *mailing.Mailer
	runs      *campaigns.Runs
}

// communicationsModule sends campaigns.
func (n *node) communicationsModule() module {
	m := &n.messaging
	return module{
		name:  "communications",
		wire:  n.wireCommunications,
		kinds: func(node *grain.Node) []cluster.Kind { return campaigns.Kinds(node, m.ports) },
		routes: func() ([]route.Route, error) {
			rows := campaignsapi.Routes(campaignsapi.Ports{Campaigns: m.campaigns})
			pages := mailing.Pages{Recipients: m.campaigns, Applications: n.apps}
			if m.mailer != nil { // a node that is not open only lists its rows
				pages.Links = m.mailer.Links
			}
			return append(rows, mailing.Routes(pages)...), nil
		},
		segmentUsers: func() []people.SegmentUser { return []people.SegmentUser{m.campaigns} },
		parts: func() []part {
			return []part{{"campaigns", "A run tells the actors what became of the messages on their way, so it ends before them.", m.runs.Run}}
		},
	}
}

// wireCommunications creates the parts of the module.
func (n *node) wireCommunications() error {
	key, err := n.vault.Key("links of campaigns")
	if err != nil {
		return err
	}
	m := &n.messaging
	mail := outbound.Mail{Server: n.config.MailServer, From: n.config.MailFrom, Now: n.now}
	links := mailing.Links{Key: key, Base: n.config.PublicURL}
	m.mailer = &mailing.Mailer{Server: mail, Links: links, Now: n.now}
	m.runs = campaigns.NewRuns()
	m.ports = &campaigns.Ports{
		Actors: n.cluster, Audience: audiences{n}, Store: n.db.CampaignStore, Mailer: letters{m.mailer}, Hasher: links, Random: n.random, Runs: m.runs, Logger: n.logger,
		Erased: func(environment, visitor uint64, sinceMs int64) bool {
			erased := n.erased.Visitors()
			_, gone := erased.ErasedLife(environment, erased.IDs(environment, []uint64{visitor})[0], sinceMs)
			return gone
		},
		Allowed: func(ctx context.Context, ref domain.AppRef) (bool, error) {
			app, err := n.apps.Get(ctx, ref)
			if domain.CodeOf(err) == domain.CodeNotFound {
				return false, nil
			}
			return slices.Contains(app.Modules, domain.ModuleCommunications), err
		},
	}
	m.campaigns = &campaigns.Campaigns{
		Actors: n.cluster, NewID: n.random.ID, Segments: n.segmentsOf(), Hasher: links, Domains: n.config.MailDomains, Ready: m.mailer.Ready, Check: m.mailer.Check, Now: n.now,
	}
	return nil
}

// segmentsOf lists the segments of applications.
func (n *node) segmentsOf() *people.Segments { return &people.Segments{Actors: n.cluster} }

// letters adapts the mailer to the campaign sender.
type letters struct{ *mailing.Mailer }

// Letter prepares the messages of a campaign.
func (l letters) Letter(ref domain.AppRef, campaign *campaign.Mailing) (campaigns.Letter, error) {
	return l.Mailer.Letter(ref, campaign)
}

// Connect opens a connection to the mail server.
func (l letters) Connect(ctx context.Context) (campaigns.Connection, error) {
	return l.Mailer.Connect(ctx)
}

// audiences reads the audiences of campaigns.
type audiences struct{ node *node }

// Page returns the people after a cursor, in the order of lists.
func (a audiences) Page(ctx context.Context, ref domain.AppRef, campaign *campaign.Mailing, cursor string) (page campaign.Page, err error) {
	if err := a.node.syncSnapshot(ctx, "erasures", ref.String()); err != nil { // afterwards, erased people are hidden
		return page, err
	}
	if cursor == "" { // the audience includes everyone that was accepted before the campaign began
		if err := a.node.awaitStored(ctx); err != nil {
			return page, err
		}
	}
	query := person.Query{Environment: domain.Environment{Slug: campaign.Environment, Number: campaign.EnvironmentNumber}, Now: campaign.StartedAt, Limit: exportedPeople}
	if cursor != "" {
		query.After = &person.Key{}
		if err := readCursor(cursor, query.After); err != nil {
			return page, err
		}
	}
	if query.Segment, err = a.segment(ctx, ref, campaign); err != nil {
		return page, err
	}
	list, err := a.node.db.People(ctx, query)
	if err != nil {
		return page, err
	}
	page.Done, page.Cursor = !list.More, writeCursor(list.Last)
	for i := range list.Rows {
		addRecipient(&page, &list.Rows[i])
	}
	return page, nil
}

// segment returns the segment of an audience, nil for all people; a list is a static segment.
func (a audiences) segment(ctx context.Context, ref domain.AppRef, c *campaign.Mailing) (*segment.Segment, error) {
	switch c.Audience.Kind {
	case campaign.AudienceAll:
		return nil, nil //nolint:nilnil // everybody
	case campaign.AudienceList:
		return &segment.Segment{Kind: segment.Static, Members: c.Audience.Members}, nil
	case campaign.AudienceSegment:
	}
	app, err := a.node.apps.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	segments, err := a.node.segmentsOf().Segments(ctx, app)
	if err != nil {
		return nil, err
	}
	for i := range segments {
		if segments[i].ID == c.Audience.SegmentID {
			return &segments[i], nil
		}
	}
	return nil, domain.NotFound("segment")
}

// addRecipient adds a person to a page, or counts the reason why nothing is sent.
func addRecipient(page *campaign.Page, person *person.Person) {
	address := domain.ASCIIAddress(strings.TrimSpace(person.Email))
	switch {
	case !campaign.PlainAddress(address):
		page.Skips.NoAddress++
	case optedOut(person):
		page.Skips.OptedOut++
	default:
		page.Recipients = append(page.Recipients, campaign.Recipient{Visitor: person.Number, Address: strings.ToLower(address), Name: person.Name})
	}
}

// optedOut reports whether a trait opts a person out of campaigns.
func optedOut(person *person.Person) bool {
	for _, trait := range campaign.OptOutTraits() {
		var said bool
		if raw, told := person.Traits[trait]; told && json.Unmarshal(raw, &said) == nil && said {
			return true
		}
	}
	return false
}
