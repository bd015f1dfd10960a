package report

import (
	"fmt"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/analytics"
	"svc/domain/goal"
)

// Kind is the kind of a report, which determines when it is sent.
type Kind string

// The kinds.
const (
	Weekly  Kind = "weekly"
	Monthly Kind = "monthly"
	// ReportSpike is a notice of unusually many visitors.
	ReportSpike Kind = "spike"
)

// Values lists the kinds.
func (Kind) Values() []Kind {
	return []Kind{Weekly, Monthly, ReportSpike}
}

// Limits of reports.
const (
	// reportHour is the hour of the application's local day at which a report of the previous period is due.
	reportHour = 8
	// SpikeRest is the least time between two notices of spikes.
	SpikeRest = 12 * time.Hour
	// MaxSpikeThreshold limits the threshold of a spike.
	MaxSpikeThreshold = 1_000_000
	// Rows is the number of pages, sources and goals in a report.
	Rows = 10
	// attemptLease is how long an attempt to send a letter prevents other attempts.
	attemptLease = time.Minute
)

// Spec defines a report and its recipients. An application has one report of each kind per environment.
type Spec struct {
	Kind        Kind     `json:"kind"`
	Environment string   `json:"environment"`
	Number      uint64   `json:"number"`
	Recipients  []string `json:"recipients"`
	// Threshold is the number of simultaneous visitors that make a spike; zero for other kinds.
	Threshold uint64 `json:"threshold,omitempty"`
	Enabled   bool   `json:"enabled"`
}

// Validate returns every problem of the specification, none if it is valid.
func (s *Spec) Validate() []domain.FieldError {
	var problems []domain.FieldError
	if !slices.Contains(s.Kind.Values(), s.Kind) {
		problems = append(problems, domain.FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: domain.Texts(s.Kind.Values())})
	}
	problems = append(problems, alert.ValidateRecipients("recipients", s.Recipients)...)
	switch {
	case s.Kind == ReportSpike && (s.Threshold < 1 || s.Threshold > MaxSpikeThreshold):
		problems = append(problems, domain.FieldError{Field: "threshold", Code: "out_of_range", Message: fmt.Sprintf("A report of spikes needs a threshold from 1 to %d visitors.", MaxSpikeThreshold)})
	case s.Kind != ReportSpike && s.Threshold != 0:
		problems = append(problems, domain.FieldError{Field: "threshold", Code: "invalid_value", Message: "Only a report of spikes has a threshold."})
	}
	return problems
}

// Period is the span of local days that a regular report covers: the first and the last one, as YYYY-MM-DD.
type Period struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Range returns the period as a range of analytics.
func (p Period) Range() string { return "custom:" + p.From + ".." + p.To }

// Period returns the latest period of a kind with a report due at an instant: the week from Monday to Sunday, or the
// calendar month, that was over at eight o'clock local time in loc. Spikes have no period.
func (k Kind) Period(now time.Time, loc *time.Location) Period {
	first := k.boundary(now, loc)
	switch k {
	case Weekly:
		return Period{first.AddDate(0, 0, -7).Format(time.DateOnly), first.AddDate(0, 0, -1).Format(time.DateOnly)}
	case Monthly:
		return Period{first.AddDate(0, -1, 0).Format(time.DateOnly), first.AddDate(0, 0, -1).Format(time.DateOnly)}
	case ReportSpike:
	}
	return Period{}
}

// Next returns when the next period of a kind is due after an instant; the zero time for spikes.
func (k Kind) Next(now time.Time, loc *time.Location) time.Time {
	first := k.boundary(now, loc)
	switch k {
	case Weekly:
		first = first.AddDate(0, 0, 7)
	case Monthly:
		first = first.AddDate(0, 1, 0)
	case ReportSpike:
		return time.Time{}
	}
	return time.Date(first.Year(), first.Month(), first.Day(), reportHour, 0, 0, 0, loc)
}

// boundary returns the end of the latest due period, as midnight UTC of its day: a Monday, or the first of a month. A
// period ends on the morning of this day.
func (k Kind) boundary(now time.Time, loc *time.Location) time.Time {
	local := now.In(loc)
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	if local.Hour() < reportHour {
		day = day.AddDate(0, 0, -1)
	}
	if k == Monthly {
		return day.AddDate(0, 0, 1-day.Day())
	}
	const week = 7
	return day.AddDate(0, 0, -(int(day.Weekday())+week-int(time.Monday))%week)
}

// Value is one page or source with its visitors.
type Value struct {
	Value    string `json:"value"`
	Visitors uint64 `json:"visitors"`
}

// Spike is the content of a spike notice: the visitors at the time of its detection.
type Spike struct {
	At       time.Time `json:"at"`
	Visitors uint64    `json:"visitors"`
	Pages    []Value   `json:"pages,omitempty"`
	Sources  []Value   `json:"sources,omitempty"`
}

// Letter is one message to one recipient that the mail server has not accepted yet.
type Letter struct {
	// ID is the same for every attempt, and on every node.
	ID        string    `json:"id"`
	To        string    `json:"to"`
	Period    Period    `json:"period,omitzero"`
	Spike     *Spike    `json:"spike,omitempty"`
	Attempts  int       `json:"attempts"`
	Next      time.Time `json:"next"`
	CreatedAt time.Time `json:"createdAt"`
}

// Report is a report with its sending state.
type Report struct {
	ID  string        `json:"id"`
	App domain.AppRef `json:"app"`
	Spec
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Claimed is the latest period with created letters, SpikeAt the time of the latest spike with created letters.
	Claimed Period    `json:"claimed,omitzero"`
	SpikeAt time.Time `json:"spikeAt,omitzero"`
	// Letters wait for the mail server.
	Letters []Letter `json:"letters,omitempty"`
	// SentAt is when the mail server last accepted a letter. Problem is why it did not accept the latest one; "" if it
	// did.
	SentAt  time.Time `json:"sentAt,omitzero"`
	Problem string    `json:"problem,omitempty"`
}

// Update gives a report a new specification. Letters to removed recipients are dropped. A report that was off begins
// with the period after the due one.
func (r *Report) Update(spec Spec, due Period, now time.Time) {
	if !r.Enabled && spec.Enabled {
		r.Claimed, r.Problem = due, ""
	}
	r.Spec, r.UpdatedAt = spec, now
	r.Letters = slices.DeleteFunc(slices.Clone(r.Letters), func(l Letter) bool { return !spec.Enabled || !slices.Contains(spec.Recipients, l.To) })
}

// Due reports whether the letters of a period, or of a spike, are still to be created.
func (r *Report) Due(period Period, spike *Spike) bool {
	if !r.Enabled || len(r.Recipients) == 0 {
		return false
	}
	if r.Kind == ReportSpike {
		return spike != nil && spike.Visitors >= r.Threshold && spike.At.Sub(r.SpikeAt) >= SpikeRest
	}
	return period.From > r.Claimed.From // a change of the time zone never repeats a period
}

// Claim creates the letters of a period or of a spike, one per recipient. It drops unsent letters of an earlier period.
func (r *Report) Claim(period Period, spike *Spike, now time.Time) {
	about := period.From
	if spike != nil {
		r.SpikeAt, about = spike.At, spike.At.UTC().Format(time.RFC3339Nano)
	} else {
		r.Claimed = period
	}
	r.Letters = nil
	for _, to := range r.Recipients {
		r.Letters = append(r.Letters, Letter{
			ID: "rpl_" + domain.HashSecretHex(r.ID + "\x00" + about + "\x00" + to)[:26], To: to, Period: period, Spike: spike, Next: now, CreatedAt: now,
		})
	}
}

// Begin claims a letter for an attempt. It returns false if the letter is gone or another attempt holds it.
func (r *Report) Begin(id string, now time.Time) (letter Letter, ok bool) {
	at := slices.IndexFunc(r.Letters, func(l Letter) bool { return l.ID == id && !l.Next.After(now) })
	if at < 0 {
		return letter, false
	}
	r.Letters = slices.Clone(r.Letters)
	r.Letters[at].Attempts++
	r.Letters[at].Next = now.Add(attemptLease)
	return r.Letters[at], true
}

// End records the outcome of an attempt: problem is "" if the mail server accepted the letter. It returns false if the
// letter is gone.
func (r *Report) End(id, problem string, retry bool, now time.Time) bool {
	at := slices.IndexFunc(r.Letters, func(l Letter) bool { return l.ID == id })
	if at < 0 {
		return false
	}
	r.Letters, r.Problem = slices.Clone(r.Letters), domain.Truncate(problem, alert.MaxAnswerBytes)
	if problem == "" {
		r.SentAt = now
	} else {
		letter := &r.Letters[at]
		// The letter's attempts already include the one that has ended.
		next, again := (alert.Delivery{Attempts: letter.Attempts - 1, CreatedAt: letter.CreatedAt}).Failed(now, retry)
		if again {
			letter.Next = next.Next
			return true
		}
	}
	r.Letters = slices.Delete(r.Letters, at, at+1)
	return true
}

// RecipientHash identifies a recipient in links without the address.
func RecipientHash(address string) string {
	return domain.HashSecretHex("recipient\x00" + address)[:32]
}

// Unsubscribe removes the recipient with a hash. It returns false if there is no such recipient.
func (r *Report) Unsubscribe(hash string) bool {
	none := func(address string) bool { return RecipientHash(address) == hash }
	if !slices.ContainsFunc(r.Recipients, none) {
		return false
	}
	r.Recipients = slices.DeleteFunc(slices.Clone(r.Recipients), none)
	r.Letters = slices.DeleteFunc(slices.Clone(r.Letters), func(l Letter) bool { return none(l.To) })
	return true
}

// Content is the content of a regular report.
type Content struct {
	Overview analytics.Overview
	Pages    []Value
	Sources  []Value
	Goals    []goal.Count
}

// Mail is a letter with its full content.
type Mail struct {
	Letter      Letter
	Kind        Kind
	App         domain.AppRef
	AppName     string
	Environment string
	Location    *time.Location
	// Content is set for a regular report.
	Content Content
	// Threshold is set for a spike.
	Threshold uint64
	// Unsubscribe is the link by which the recipient unsubscribes.
	Unsubscribe string
}
