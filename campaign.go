package svc

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
)

// CampaignStatus is the stage of a campaign's life (contract 70).
type CampaignStatus string

// The statuses.
const (
	CampaignDraft     CampaignStatus = "draft"
	CampaignPending   CampaignStatus = "pending_approval"
	CampaignApproved  CampaignStatus = "approved"
	CampaignScheduled CampaignStatus = "scheduled"
	CampaignSending   CampaignStatus = "sending"
	CampaignCompleted CampaignStatus = "completed"
	CampaignPaused    CampaignStatus = "paused"
	CampaignCanceled  CampaignStatus = "canceled"
	CampaignFailed    CampaignStatus = "failed"
)

// CampaignStatuses lists the statuses in the order of a campaign's life.
func CampaignStatuses() []CampaignStatus {
	return []CampaignStatus{
		CampaignDraft, CampaignPending, CampaignApproved, CampaignScheduled, CampaignSending, CampaignCompleted, CampaignPaused, CampaignCanceled, CampaignFailed,
	}
}

// Values lists the statuses.
func (CampaignStatus) Values() []CampaignStatus { return CampaignStatuses() }

// CampaignChannel is the medium of a campaign.
type CampaignChannel string

// The channels. Only e-mail has a sender.
const (
	ChannelMail  CampaignChannel = "email"
	ChannelPush  CampaignChannel = "push"
	ChannelSMS   CampaignChannel = "sms"
	ChannelInApp CampaignChannel = "in_app"
	ChannelHook  CampaignChannel = "webhook"
)

// CampaignChannels lists the channels.
func CampaignChannels() []CampaignChannel {
	return []CampaignChannel{ChannelMail, ChannelPush, ChannelSMS, ChannelInApp, ChannelHook}
}

// Values lists the channels.
func (CampaignChannel) Values() []CampaignChannel { return CampaignChannels() }

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

// CampaignAudience defines the recipients of a campaign.
type CampaignAudience struct {
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

// CampaignSender is the sender of a campaign.
type CampaignSender struct {
	Name    string `json:"name" doc:"The name that people read."`
	Address string `json:"address" doc:"An e-mail address of a domain that the operator permits; the operator's own sender where it is empty."`
}

// CampaignContent is the content of a campaign. Its texts may contain only the placeholders of CampaignPlaceholders.
type CampaignContent struct {
	From      CampaignSender `json:"from"`
	ReplyTo   string         `json:"replyTo,omitempty"`
	Subject   string         `json:"subject"`
	Preheader string         `json:"preheader,omitempty"`
	Text      string         `json:"text,omitempty"`
	HTML      string         `json:"html,omitempty"`
}

// Hash identifies a content: different contents have different hashes.
func (c *CampaignContent) Hash() string {
	encoded, _ := json.Marshal(c) // the content consists of texts, which always encode
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16])
}

// CampaignSpec holds the authors' settings of a campaign.
type CampaignSpec struct {
	Name        string            `json:"name"`
	Environment string            `json:"environment"`
	Channels    []CampaignChannel `json:"channels"`
	Audience    CampaignAudience  `json:"audience"`
	// Rate is the number of messages per second, Budget the number per hour; a Budget of 0 is unlimited.
	Rate   int `json:"rate"`
	Budget int `json:"budget,omitempty"`
	// Content is stored separately; the stored campaign has only its hash.
	Content CampaignContent `json:"content,omitzero"`
}

// CampaignPatch holds the fields of a campaign to change; nil fields are unchanged.
type CampaignPatch struct {
	Name      *string
	Channels  *[]CampaignChannel
	Audience  *CampaignAudience
	Rate      *int
	Budget    *int
	From      *CampaignSender
	ReplyTo   *string
	Subject   *string
	Preheader *string
	Text      *string
	HTML      *string
}

// With returns the specification with the fields of a patch.
func (s CampaignSpec) With(p CampaignPatch) CampaignSpec {
	assign(&s.Name, p.Name)
	assign(&s.Channels, p.Channels)
	assign(&s.Audience, p.Audience)
	assign(&s.Rate, p.Rate)
	assign(&s.Budget, p.Budget)
	assign(&s.Content.From, p.From)
	assign(&s.Content.ReplyTo, p.ReplyTo)
	assign(&s.Content.Subject, p.Subject)
	assign(&s.Content.Preheader, p.Preheader)
	assign(&s.Content.Text, p.Text)
	assign(&s.Content.HTML, p.HTML)
	return s
}

// Normalize fills in the defaults of a specification.
func (s *CampaignSpec) Normalize() {
	s.Name = strings.TrimSpace(s.Name)
	if s.Environment == "" {
		s.Environment = DefaultEnvironment
	}
	if s.Channels == nil {
		s.Channels = []CampaignChannel{ChannelMail}
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
func (s *CampaignSpec) Validate(environments []Environment, domains MailDomains) []FieldError {
	problems := validateName(s.Name)
	if slugs := slugsOf(environments); !slices.Contains(slugs, s.Environment) {
		problems = append(problems, FieldError{Field: "environment", Code: "unknown_value", Message: fmt.Sprintf("Unknown environment %q.", s.Environment), Allowed: slugs})
	}
	problems = append(problems, s.validateChannels()...)
	problems = append(problems, s.Audience.validate()...)
	if s.Rate < 1 || s.Rate > MaxCampaignRate {
		problems = append(problems, FieldError{Field: "ratePerSecond", Code: "out_of_range", Message: fmt.Sprintf("Between 1 and %d messages are sent a second.", MaxCampaignRate)})
	}
	if s.Budget < 0 || s.Budget > MaxCampaignBudget {
		problems = append(problems, FieldError{Field: "hourlyBudget", Code: "out_of_range", Message: fmt.Sprintf("The budget of an hour is between 1 and %d messages; 0 is none.", MaxCampaignBudget)})
	}
	return append(problems, s.Content.validate(domains)...)
}

func (s *CampaignSpec) validateChannels() (problems []FieldError) {
	if len(s.Channels) != 1 {
		return []FieldError{{Field: "channels", Code: "invalid_value", Message: "A campaign has one channel.", Allowed: words(CampaignChannels())}}
	}
	if !slices.Contains(CampaignChannels(), s.Channels[0]) {
		problems = append(problems, FieldError{Field: "channels[0]", Code: "unknown_value", Message: fmt.Sprintf("Unknown channel %q.", s.Channels[0]), Allowed: words(CampaignChannels())})
	}
	return problems
}

func (a *CampaignAudience) validate() (problems []FieldError) {
	switch a.Kind {
	case AudienceAll, AudienceSegment, AudienceList:
	default:
		return []FieldError{{Field: "audience.kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", a.Kind), Allowed: words(a.Kind.Values())}}
	}
	if (a.SegmentID != "") != (a.Kind == AudienceSegment) {
		problems = append(problems, FieldError{Field: "audience.segmentId", Code: "required", Message: "An audience of kind segment, and no other, names its segment."})
	}
	if (len(a.Members) > 0) != (a.Kind == AudienceList) {
		problems = append(problems, FieldError{Field: "audience.personIds", Code: "required", Message: "An audience of kind list, and no other, names people."})
	}
	if len(a.Members) > MaxCampaignList {
		problems = append(problems, FieldError{Field: "audience.personIds", Code: "too_many", Message: fmt.Sprintf("A list names at most %d people.", MaxCampaignList)})
	}
	return problems
}

// validate checks the form of the fields that are present.
func (c *CampaignContent) validate(domains MailDomains) (problems []FieldError) {
	for _, line := range []struct {
		field, text string
		most        int
	}{{"subject", c.Subject, MaxCampaignSubject}, {"preheader", c.Preheader, MaxCampaignPreheader}, {"from.name", c.From.Name, MaxName}} {
		if utf8.RuneCountInString(line.text) > line.most {
			problems = append(problems, FieldError{Field: line.field, Code: "too_long", Message: fmt.Sprintf("It is longer than %d characters.", line.most)})
		}
	}
	for _, body := range []struct {
		field, text string
		most        int
	}{{"text", c.Text, MaxCampaignText}, {"html", c.HTML, MaxCampaignHTML}} {
		if len(body.text) > body.most {
			problems = append(problems, FieldError{Field: body.field, Code: "too_long", Message: fmt.Sprintf("It is longer than %d bytes.", body.most)})
		}
		problems = append(problems, checkPlaceholders(body.field, body.text)...)
	}
	problems = append(problems, checkPlaceholders("subject", c.Subject)...)
	problems = append(problems, checkPlaceholders("preheader", c.Preheader)...)
	if c.From.Address != "" && !domains.Permit(c.From.Address) {
		problems = append(problems, FieldError{Field: "from.address", Code: "not_permitted", Message: "The operator permits senders of these domains only.", Allowed: domains})
	}
	if c.ReplyTo != "" && !PlainAddress(ASCIIAddress(c.ReplyTo)) {
		problems = append(problems, FieldError{Field: "replyTo", Code: "invalid_value", Message: "It is no e-mail address."})
	}
	return problems
}

// Lacks returns a problem for every missing field that sending needs.
func (s *CampaignSpec) Lacks() (problems []FieldError) {
	if s.Content.Subject == "" {
		problems = append(problems, FieldError{Field: "subject", Code: "required", Message: "The message needs a subject."})
	}
	if s.Content.Text == "" && s.Content.HTML == "" {
		problems = append(problems, FieldError{Field: "text", Code: "required", Message: "The message needs a text or HTML."})
	}
	return problems
}

// MailDomains are the domains of permitted sender addresses.
type MailDomains []string

// Permit reports whether an address may be a sender.
func (d MailDomains) Permit(address string) bool {
	address = ASCIIAddress(address)
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
// CampaignProgress holds the progress of its sending.
type Mailing struct {
	ID string `json:"id"`
	CampaignSpec
	// EnvironmentNumber and RetentionDays are copied from the application at the last change.
	EnvironmentNumber uint64 `json:"environmentNumber"`
	RetentionDays     int    `json:"retentionDays"`
	// ContentHash identifies the content.
	ContentHash string         `json:"contentHash"`
	Status      CampaignStatus `json:"status"`
	// Revision counts the changes.
	Revision uint64 `json:"revision"`
	// Author created the campaign. Editors are the ids of everyone that edited or submitted it; none of them may
	// approve it.
	Author      LedgerActor       `json:"author"`
	Editors     []string          `json:"editors"`
	SubmittedAt time.Time         `json:"submittedAt,omitzero"`
	Decision    *CampaignDecision `json:"decision,omitempty"`
	ScheduledAt time.Time         `json:"scheduledAt,omitzero"`
	StartedAt   time.Time         `json:"startedAt,omitzero"`
	CompletedAt time.Time         `json:"completedAt,omitzero"`
	// Problem says why a campaign failed.
	Problem   string    `json:"problem,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// CampaignDecision is the decision of a second operator.
type CampaignDecision struct {
	By       LedgerActor `json:"by"`
	At       time.Time   `json:"at"`
	Approved bool        `json:"approved"`
	Reason   string      `json:"reason,omitempty"`
}
