package campaigns

import (
	"context"
	"sync"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/campaign"
	"svc/domain/conversation"
	"svc/domain/segment"
)

// Hasher makes hashes of addresses under a key that only this service has.
type Hasher interface {
	// AddressHash returns 32 hexadecimal digits for an address of an application.
	AddressHash(ref domain.AppRef, address string) string
}

// Segments knows the segments of applications.
type Segments interface {
	// Segments returns the segments of an application.
	Segments(ctx context.Context, app domain.Application) ([]segment.Segment, error)
}

// Campaigns makes, changes, decides about and controls campaigns, and counts the openings and clicks of recipients.
type Campaigns struct {
	Actors   grain.Caller
	NewID    func(prefix string) string
	Segments Segments
	Hasher   Hasher
	// Domains are the domains of senders; Ready reports whether a channel has a sender.
	Domains campaign.MailDomains
	Ready   func(channel campaign.Channel) bool
	// Check returns the problems that prevent the sending of a content.
	Check func(content *campaign.Content) []domain.FieldError
	Now   func() time.Time
}

func senderIdentity(ref domain.AppRef, id string) string { return ref.String() + "/" + id }

// List returns the campaigns of an application, the newest first.
func (c *Campaigns) List(ctx context.Context, ref domain.AppRef) ([]campaign.Mailing, error) {
	return bookList.Ask(ctx, c.Actors, ref.String(), grain.None{})
}

// progressTime bounds how long an answer waits for the progress of campaigns.
const progressTime = 3 * time.Second

// Progress returns the progress of campaigns, in their order.
func (c *Campaigns) Progress(ctx context.Context, ref domain.AppRef, campaigns []campaign.Mailing) ([]campaign.Progress, error) {
	ctx, cancel := context.WithTimeout(ctx, progressTime)
	defer cancel()
	found, problems := make([]campaign.Progress, len(campaigns)), make([]error, len(campaigns))
	var asked sync.WaitGroup
	for i := range campaigns {
		if campaigns[i].StartedAt.IsZero() {
			continue
		}
		asked.Go(func() { found[i], problems[i] = c.progress(ctx, ref, campaigns[i].ID) })
	}
	asked.Wait()
	for _, err := range problems {
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (c *Campaigns) progress(ctx context.Context, ref domain.AppRef, id string) (campaign.Progress, error) {
	progress, err := senderProgress.Ask(ctx, c.Actors, senderIdentity(ref, id), grain.None{})
	if err != nil {
		return progress, err
	}
	counts, err := tallyCounts.Ask(ctx, c.Actors, senderIdentity(ref, id), grain.None{})
	progress.Opened, progress.Clicked = counts.Opened, counts.Clicked
	return progress, err
}

// Get returns a campaign with its content. It fails with not_found if there is no such campaign.
func (c *Campaigns) Get(ctx context.Context, ref domain.AppRef, id string) (campaign.Mailing, error) {
	found, err := bookGet.Ask(ctx, c.Actors, ref.String(), findCampaign{id})
	if err != nil {
		return found, err
	}
	found.Content, err = senderRead.Ask(ctx, c.Actors, senderIdentity(ref, id), readContent{found.ContentHash})
	return found, err
}

// check returns the problems of a normalized specification.
func (c *Campaigns) check(ctx context.Context, app *domain.Application, spec *campaign.Spec) error {
	problems := spec.Validate(app.Environments, c.Domains)
	if spec.Audience.Kind == campaign.AudienceSegment && spec.Audience.SegmentID != "" {
		segments, err := c.Segments.Segments(ctx, *app)
		if err != nil {
			return err
		}
		if !hasSegment(segments, spec.Audience.SegmentID) {
			problems = append(problems, domain.FieldError{Field: "audience.segmentId", Code: "unknown_value", Message: "The application has no such segment."})
		}
	}
	problems = append(problems, c.Check(&spec.Content)...)
	if len(problems) > 0 {
		return domain.Invalid(problems...)
	}
	return nil
}

func hasSegment(segments []segment.Segment, id string) bool {
	for i := range segments {
		if segments[i].ID == id {
			return true
		}
	}
	return false
}

// Create makes a draft. It fails with invalid_request as campaign.Spec.Validate does.
func (c *Campaigns) Create(ctx context.Context, app *domain.Application, spec campaign.Spec, by domain.LedgerActor) (campaign.Mailing, error) {
	spec.Normalize()
	if err := c.check(ctx, app, &spec); err != nil {
		return campaign.Mailing{}, err
	}
	environment, _ := app.Environment(spec.Environment)
	made := campaign.Mailing{
		ID: domain.DrawID(ctx, "cmp_", c.NewID), Spec: spec, EnvironmentNumber: environment.Number, RetentionDays: app.RetentionDays, ContentHash: spec.Content.Hash(),
		Status: campaign.Draft, Revision: 1, Author: by, Editors: []string{by.ID}, CreatedAt: c.Now(), UpdatedAt: c.Now(),
	}
	// The texts are stored before the campaign that names them.
	if _, err := senderWrite.Ask(ctx, c.Actors, senderIdentity(app.Ref(), made.ID), spec.Content); err != nil {
		return made, err
	}
	made.Content = campaign.Content{}
	made, err := bookCreate.Ask(ctx, c.Actors, app.Ref().String(), made)
	made.Content = spec.Content
	return made, err
}

// Update changes a draft; revision is the one that the caller has read, 0 for any. It fails with precondition_failed if
// the draft has another revision, with conflict if the campaign is not a draft, and with invalid_request as Create
// does.
func (c *Campaigns) Update(ctx context.Context, app *domain.Application, id string, patch campaign.Patch, revision uint64, by domain.LedgerActor) (campaign.Mailing, error) {
	present, err := c.Get(ctx, app.Ref(), id)
	if err != nil {
		return present, err
	}
	spec := present.Spec.With(patch)
	spec.Normalize()
	if err := c.check(ctx, app, &spec); err != nil {
		return present, err
	}
	if revision == 0 {
		revision = present.Revision // the patch is applied to the revision that was read here
	}
	if _, err := senderWrite.Ask(ctx, c.Actors, senderIdentity(app.Ref(), id), spec.Content); err != nil {
		return present, err
	}
	content := spec.Content
	spec.Content = campaign.Content{}
	changed, err := bookEdit.Ask(ctx, c.Actors, app.Ref().String(), editCampaign{
		ID: id, Spec: spec, Hash: content.Hash(), RetentionDays: app.RetentionDays, By: by, Revision: revision,
	})
	changed.Content = content
	return changed, err
}

// ready refuses a campaign if its channel has no sender.
func (c *Campaigns) ready(camp *campaign.Mailing) error {
	if channel := camp.Channels[0]; !c.Ready(channel) {
		message := "No sender is configured for the channel " + string(channel) + "."
		if channel == campaign.ChannelMail {
			message = "No sender is configured for e-mail: the operator sets SVC_MAIL_SERVER and SVC_PUBLIC_URL."
		}
		return &domain.Error{Code: domain.CodeConflict, Reason: "no_sender", Message: message}
	}
	return nil
}

// Submit makes a draft wait for a second operator. It fails with invalid_request if a part is missing, and with
// conflict if the channel has no sender.
func (c *Campaigns) Submit(ctx context.Context, ref domain.AppRef, id string, revision uint64, by domain.LedgerActor) (campaign.Mailing, error) {
	present, err := c.Get(ctx, ref, id)
	if err != nil {
		return present, err
	}
	if present.Status == campaign.Draft {
		if problems := present.Lacks(); len(problems) > 0 {
			return present, domain.Invalid(problems...)
		}
		if err := c.ready(&present); err != nil {
			return present, err
		}
	}
	if revision == 0 {
		revision = present.Revision
	}
	changed, err := bookSubmit.Ask(ctx, c.Actors, ref.String(), submitCampaign{id, by, revision})
	changed.Content = present.Content
	return changed, err
}

// Decide approves a campaign of a revision, or returns it as a draft. It fails with forbidden for its authors.
func (c *Campaigns) Decide(ctx context.Context, ref domain.AppRef, id string, revision uint64, decision campaign.Decision) (campaign.Mailing, error) {
	changed, err := bookDecide.Ask(ctx, c.Actors, ref.String(), decideCampaign{id, decision, revision})
	if err != nil {
		return changed, err
	}
	return c.Get(ctx, ref, id)
}

// Control starts, pauses, resumes or ends a campaign. It fails with conflict if its status does not permit that.
func (c *Campaigns) Control(ctx context.Context, ref domain.AppRef, id string, action campaign.Action, at time.Time, revision uint64) (campaign.Mailing, error) {
	present, err := c.Get(ctx, ref, id)
	if err != nil {
		return present, err
	}
	if to, _ := action.Target(); to == campaign.Sending || to == campaign.Scheduled {
		if err := c.ready(&present); err != nil {
			return present, err
		}
	}
	// If this call ends before the sender is notified, the sender finds the change when it next reads the campaign.
	if _, err := senderArm.Ask(ctx, c.Actors, senderIdentity(ref, id), grain.None{}); err != nil {
		return present, err
	}
	changed, err := bookControl.Ask(ctx, c.Actors, ref.String(), controlCampaign{id, action, at, revision})
	if err != nil {
		return present, err
	}
	changed.Content = present.Content
	if _, err := senderArm.Ask(context.WithoutCancel(ctx), c.Actors, senderIdentity(ref, id), grain.None{}); err != nil {
		return changed, nil //nolint:nilerr // it is changed, and the sender looks at it soon
	}
	return changed, nil
}

// SegmentUses returns the campaigns that use a segment and are not over.
func (c *Campaigns) SegmentUses(ctx context.Context, app domain.Application, id string) (uses []segment.Use, err error) {
	all, err := c.List(ctx, app.Ref())
	for i := range all {
		if all[i].Audience.SegmentID == id && !all[i].Status.Over() {
			uses = append(uses, segment.Use{Kind: "campaign", Name: all[i].Name, Production: all[i].Environment == conversation.Production})
		}
	}
	return uses, err
}

// Opened counts a recipient that opened the message.
func (c *Campaigns) Opened(ctx context.Context, ref domain.AppRef, id string, number uint32) error {
	_, err := tallySeen.Ask(ctx, c.Actors, senderIdentity(ref, id), seenRecipient{Number: number})
	return err
}

// Clicked counts a recipient that followed a link, and returns its target. It fails with not_found if there is no such
// link.
func (c *Campaigns) Clicked(ctx context.Context, ref domain.AppRef, id string, number uint32, link int) (string, error) {
	seen, err := tallySeen.Ask(ctx, c.Actors, senderIdentity(ref, id), seenRecipient{Number: number, Clicked: true, Link: link})
	return seen.URL, err
}

func suppressionsIdentity(ref domain.AppRef, hash string) string {
	return ref.String() + "/" + hash[:1]
}

// Unsubscribe stops all further campaigns of the application to the address of a hash.
func (c *Campaigns) Unsubscribe(ctx context.Context, ref domain.AppRef, hash, campaign string) error {
	return suppress(ctx, c.Actors, ref, suppressAddress{hash, reasonUnsubscribed, campaign})
}

func suppress(ctx context.Context, actors grain.Caller, ref domain.AppRef, m suppressAddress) error {
	_, err := suppressionsAdd.Ask(ctx, actors, suppressionsIdentity(ref, m.Hash), m)
	return err
}

// Subscribe reverts an unsubscription.
func (c *Campaigns) Subscribe(ctx context.Context, ref domain.AppRef, hash string) error {
	_, err := suppressionsLift.Ask(ctx, c.Actors, suppressionsIdentity(ref, hash), suppressAddress{Hash: hash})
	return err
}
