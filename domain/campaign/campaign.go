package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
)

// Status is the stage of a campaign's life (contract 70).
type Status string

// The statuses.
const (
	Draft     Status = "draft"
	Pending   Status = "pending_approval"
	Approved  Status = "approved"
	Scheduled Status = "scheduled"
	Sending   Status = "sending"
	Completed Status = "completed"
	Paused    Status = "paused"
	Canceled  Status = "canceled"
	Failed    Status = "failed"
)

// Statuses lists the statuses in the order of a campaign's life.
func Statuses() []Status {
	return []Status{
		Draft, Pending, Approved, Scheduled, Sending, Completed, Paused, Canceled, Failed,
	}
}

// Values lists the statuses.
func (Status) Values() []Status { return Statuses() }

// Channel is the medium of a campaign.
type Channel string

// The channels. Only e-mail has a sender.
const (
	ChannelMail  Channel = "email"
	ChannelPush  Channel = "push"
	ChannelSMS   Channel = "sms"
	ChannelInApp Channel = "in_app"
	ChannelHook  Channel = "webhook"
)

// Channels lists the channels.
func Channels() []Channel {
	return []Channel{ChannelMail, ChannelPush, ChannelSMS, ChannelInApp, ChannelHook}
}

// Values lists the channels.
func (Channel) Values() []Channel { return Channels() }

// AudienceKind is the way to select the recipients of a campaign.
type AudienceKind string

// The kinds: all people, the members of a segment, a list of people.
const (
	AudienceAll     AudienceKind = "all"
	AudienceSegment AudienceKind = "segment"
	AudienceList    AudienceKind = "list"
)

// Values returns the kinds, for descriptions.
func (AudienceKind) Values() []AudienceKind {
	return []AudienceKind{AudienceAll, AudienceSegment, AudienceList}
}

// Audience defines the recipients of a campaign.
type Audience struct {
	Kind AudienceKind `json:"kind"`
	// SegmentID is the id of a segment. Members are the visitor numbers of a list, one per person, ascending.
	SegmentID string   `json:"segmentId,omitempty"`
	Members   []uint64 `json:"members,omitempty"`
}

// Limits of campaigns.
const (
	MaxCampaigns         = 2000 // per application
	MaxCampaignsSending  = 10   // per application, at a time
	MaxCampaignList      = 10_000
	MaxCampaignSubject   = 200       // characters
	MaxCampaignPreheader = 200       // characters
	MaxCampaignText      = 64 << 10  // bytes
	MaxCampaignHTML      = 128 << 10 // bytes
	MaxCampaignRate      = 2000      // messages per second
	DefaultCampaignRate  = 20
	MaxCampaignBudget    = 10_000_000 // messages per hour
	MaxCampaignAhead     = 366 * 24 * time.Hour
)

// Sender is the sender of a campaign.
type Sender struct {
	Name    string `json:"name" doc:"The name that people read."`
	Address string `json:"address" doc:"An e-mail address of a domain that the operator permits; the operator's own sender where it is empty."`
}

// Content is the content of a campaign. Its texts may contain only the placeholders of Placeholders.
type Content struct {
	From      Sender `json:"from"`
	ReplyTo   string `json:"replyTo,omitempty"`
	Subject   string `json:"subject"`
	Preheader string `json:"preheader,omitempty"`
	Text      string `json:"text,omitempty"`
	HTML      string `json:"html,omitempty"`
}

// Hash identifies a content: different contents have different hashes.
func (c *Content) Hash() string {
	encoded, _ := json.Marshal(c) // the content consists of texts, which always encode
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16])
}

// Spec holds the authors' settings of a campaign.
type Spec struct {
	Name        string    `json:"name"`
	Environment string    `json:"environment"`
	Channels    []Channel `json:"channels"`
	Audience    Audience  `json:"audience"`
	// Rate is the number of messages per second, Budget the number per hour; a Budget of 0 is unlimited.
	Rate   int `json:"rate"`
	Budget int `json:"budget,omitempty"`
	// Content is stored separately; the stored campaign has only its hash.
	Content Content `json:"content,omitzero"`
}

// Patch holds the fields of a campaign to change; nil fields are unchanged.
type Patch struct {
	Name      *string
	Channels  *[]Channel
	Audience  *Audience
	Rate      *int
	Budget    *int
	From      *Sender
	ReplyTo   *string
	Subject   *string
	Preheader *string
	Text      *string
	HTML      *string
}

// With returns the specification with the fields of a patch.
func (s Spec) With(p Patch) Spec {
	domain.Assign(&s.Name, p.Name)
	domain.Assign(&s.Channels, p.Channels)
	domain.Assign(&s.Audience, p.Audience)
	domain.Assign(&s.Rate, p.Rate)
	domain.Assign(&s.Budget, p.Budget)
	domain.Assign(&s.Content.From, p.From)
	domain.Assign(&s.Content.ReplyTo, p.ReplyTo)
	domain.Assign(&s.Content.Subject, p.Subject)
	domain.Assign(&s.Content.Preheader, p.Preheader)
	domain.Assign(&s.Content.Text, p.Text)
	domain.Assign(&s.Content.HTML, p.HTML)
	return s
}

// Normalize fills in the defaults of a specification.
func (s *Spec) Normalize() {
	s.Name = strings.TrimSpace(s.Name)
	if s.Environment == "" {
		s.Environment = domain.DefaultEnvironment
	}
	if s.Channels == nil {
		s.Channels = []Channel{ChannelMail}
	}
	if s.Audience.Kind == "" {
		s.Audience.Kind = AudienceAll
	}
	slices.Sort(s.Audience.Members)
	s.Audience.Members = slices.Compact(s.Audience.Members)
	if s.Rate == 0 {
		s.Rate = DefaultCampaignRate
	}
	c := &s.Content
	for _, line := range []*string{&c.Subject, &c.Preheader, &c.From.Name, &c.From.Address, &c.ReplyTo} {
		*line = strings.Join(strings.Fields(*line), " ")
	}
}

// Validate returns every problem of a normalized specification. A draft may lack the fields that only sending needs.
func (s *Spec) Validate(environments []domain.Environment, domains MailDomains) []domain.FieldError {
	problems := domain.ValidateName(s.Name)
	if slugs := domain.SlugsOf(environments); !slices.Contains(slugs, s.Environment) {
		problems = append(problems, domain.FieldError{Field: "environment", Code: "unknown_value", Message: fmt.Sprintf("Unknown environment %q.", s.Environment), Allowed: slugs})
	}
	problems = append(problems, s.validateChannels()...)
	problems = append(problems, s.Audience.validate()...)
	if s.Rate < 1 || s.Rate > MaxCampaignRate {
		problems = append(problems, domain.FieldError{Field: "ratePerSecond", Code: "out_of_range", Message: fmt.Sprintf("Between 1 and %d messages are sent a second.", MaxCampaignRate)})
	}
	if s.Budget < 0 || s.Budget > MaxCampaignBudget {
		problems = append(problems, domain.FieldError{Field: "hourlyBudget", Code: "out_of_range", Message: fmt.Sprintf("The budget of an hour is between 1 and %d messages; 0 is none.", MaxCampaignBudget)})
	}
	return append(problems, s.Content.validate(domains)...)
}

func (s *Spec) validateChannels() (problems []domain.FieldError) {
	if len(s.Channels) != 1 {
		return []domain.FieldError{{Field: "channels", Code: "invalid_value", Message: "A campaign has one channel.", Allowed: domain.Texts(Channels())}}
	}
	if !slices.Contains(Channels(), s.Channels[0]) {
		problems = append(problems, domain.FieldError{Field: "channels[0]", Code: "unknown_value", Message: fmt.Sprintf("Unknown channel %q.", s.Channels[0]), Allowed: domain.Texts(Channels())})
	}
	return problems
}

func (a *Audience) validate() (problems []domain.FieldError) {
	switch a.Kind {
	case AudienceAll, AudienceSegment, AudienceList:
	default:
		return []domain.FieldError{{Field: "audience.kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", a.Kind), Allowed: domain.Texts(a.Kind.Values())}}
	}
	if (a.SegmentID != "") != (a.Kind == AudienceSegment) {
		problems = append(problems, domain.FieldError{Field: "audience.segmentId", Code: "required", Message: "An audience of kind segment, and no other, names its segment."})
	}
	if (len(a.Members) > 0) != (a.Kind == AudienceList) {
		problems = append(problems, domain.FieldError{Field: "audience.personIds", Code: "required", Message: "An audience of kind list, and no other, names people."})
	}
	if len(a.Members) > MaxCampaignList {
		problems = append(problems, domain.FieldError{Field: "audience.personIds", Code: "too_many", Message: fmt.Sprintf("A list names at most %d people.", MaxCampaignList)})
	}
	return problems
}

// validate checks the form of the fields that are present.
func (c *Content) validate(domains MailDomains) (problems []domain.FieldError) {
	for _, line := range []struct {
		field, text string
		most        int
	}{{"subject", c.Subject, MaxCampaignSubject}, {"preheader", c.Preheader, MaxCampaignPreheader}, {"from.name", c.From.Name, domain.MaxName}} {
		if utf8.RuneCountInString(line.text) > line.most {
			problems = append(problems, domain.FieldError{Field: line.field, Code: "too_long", Message: fmt.Sprintf("It is longer than %d characters.", line.most)})
		}
	}
	for _, body := range []struct {
		field, text string
		most        int
	}{{"text", c.Text, MaxCampaignText}, {"html", c.HTML, MaxCampaignHTML}} {
		if len(body.text) > body.most {
			problems = append(problems, domain.FieldError{Field: body.field, Code: "too_long", Message: fmt.Sprintf("It is longer than %d bytes.", body.most)})
		}
		problems = append(problems, checkPlaceholders(body.field, body.text)...)
	}
	problems = append(problems, checkPlaceholders("subject", c.Subject)...)
	problems = append(problems, checkPlaceholders("preheader", c.Preheader)...)
	if c.From.Address != "" && !domains.Permit(c.From.Address) {
		problems = append(problems, domain.FieldError{Field: "from.address", Code: "not_permitted", Message: "The operator permits senders of these domains only.", Allowed: domains})
	}
	if c.ReplyTo != "" && !PlainAddress(domain.ASCIIAddress(c.ReplyTo)) {
		problems = append(problems, domain.FieldError{Field: "replyTo", Code: "invalid_value", Message: "It is no e-mail address."})
	}
	return problems
}

// Lacks returns a problem for every missing field that sending needs.
func (s *Spec) Lacks() (problems []domain.FieldError) {
	if s.Content.Subject == "" {
		problems = append(problems, domain.FieldError{Field: "subject", Code: "required", Message: "The message needs a subject."})
	}
	if s.Content.Text == "" && s.Content.HTML == "" {
		problems = append(problems, domain.FieldError{Field: "text", Code: "required", Message: "The message needs a text or HTML."})
	}
	return problems
}

// MailDomains are the domains of permitted sender addresses.
type MailDomains []string

// Permit reports whether an address may be a sender.
func (d MailDomains) Permit(address string) bool {
	address = domain.ASCIIAddress(address)
	_, domain, _ := strings.Cut(address, "@")
	return PlainAddress(address) && slices.ContainsFunc(d, func(one string) bool { return strings.EqualFold(one, domain) })
}

// PlainAddress reports whether a text is exactly one e-mail address, in characters that every server accepts.
func PlainAddress(text string) bool {
	if len(text) > 254 {
		return false
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`<>",;:\()[]`, c) >= 0 {
			return false
		}
	}
	parsed, err := mail.ParseAddress(text)
	return err == nil && parsed.Address == text
}

// Mailing is a campaign: a message to many people, and the decisions about it. ([Campaign] is the origin of a visit.)
// Progress holds the progress of its sending.
type Mailing struct {
	ID string `json:"id"`
	Spec
	// domain.EnvironmentNumber and RetentionDays are copied from the application at the last change.
	EnvironmentNumber uint64 `json:"environmentNumber"`
	RetentionDays     int    `json:"retentionDays"`
	// ContentHash identifies the content.
	ContentHash string `json:"contentHash"`
	Status      Status `json:"status"`
	// Revision counts the changes.
	Revision uint64 `json:"revision"`
	// Author created the campaign. Editors are the ids of everyone that edited or submitted it; none of them may
	// approve it.
	Author      domain.LedgerActor `json:"author"`
	Editors     []string           `json:"editors"`
	SubmittedAt time.Time          `json:"submittedAt,omitzero"`
	Decision    *Decision          `json:"decision,omitempty"`
	ScheduledAt time.Time          `json:"scheduledAt,omitzero"`
	StartedAt   time.Time          `json:"startedAt,omitzero"`
	CompletedAt time.Time          `json:"completedAt,omitzero"`
	// Problem says why a campaign failed.
	Problem   string    `json:"problem,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Decision is the decision of a second operator.
type Decision struct {
	By       domain.LedgerActor `json:"by"`
	At       time.Time          `json:"at"`
	Approved bool               `json:"approved"`
	Reason   string             `json:"reason,omitempty"`
}
