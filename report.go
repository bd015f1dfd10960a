package svc

import (
	"fmt"
	"net/mail"
	"slices"
	"time"
)

// ReportKind says when a report is sent.
type ReportKind string

// The kinds.
const (
	ReportWeekly  ReportKind = "weekly"
	ReportMonthly ReportKind = "monthly"
	// ReportSpike is a notice of unusually many visitors.
	ReportSpike ReportKind = "spike"
)

// Values lists the kinds.
func (ReportKind) Values() []ReportKind {
	return []ReportKind{ReportWeekly, ReportMonthly, ReportSpike}
}

// Bounds of reports.
const (
	// reportHour is the hour of the application's day at which a report of the time before is due.
	reportHour = 8
	// SpikeRest is the least time between two notices of spikes.
	SpikeRest = 12 * time.Hour
	// MaxSpikeThreshold bounds the visitors that make a spike.
	MaxSpikeThreshold = 1_000_000
	// ReportRows is how many pages, sources and goals a report lists.
	ReportRows = 10
	// attemptLease is how long an attempt to send a letter keeps others from beginning one.
	attemptLease = time.Minute
)

// ReportSpec says what is sent to whom. An application has one report of each kind for each environment.
type ReportSpec struct {
	Kind        ReportKind `json:"kind"`
	Environment string     `json:"environment"`
	Number      uint64     `json:"number"`
	Recipients  []string   `json:"recipients"`
	// Threshold is how many visitors at a time make a spike; zero for other kinds.
	Threshold uint64 `json:"threshold,omitempty"`
	Enabled   bool   `json:"enabled"`
}

// Validate returns every problem of the specification, none for a good one.
func (s *ReportSpec) Validate() []FieldError {
	var problems []FieldError
	if !slices.Contains(s.Kind.Values(), s.Kind) {
		problems = append(problems, FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: words(s.Kind.Values())})
	}
	problems = append(problems, validateRecipients("recipients", s.Recipients)...)
	switch {
	case s.Kind == ReportSpike && (s.Threshold < 1 || s.Threshold > MaxSpikeThreshold):
		problems = append(problems, FieldError{Field: "threshold", Code: "out_of_range", Message: fmt.Sprintf("A report of spikes needs a threshold from 1 to %d visitors.", MaxSpikeThreshold)})
	case s.Kind != ReportSpike && s.Threshold != 0:
		problems = append(problems, FieldError{Field: "threshold", Code: "invalid_value", Message: "Only a report of spikes has a threshold."})
	}
	return problems
}

// validateRecipients refuses a list of e-mail addresses that is empty, too long or holds anything else.
func validateRecipients(field string, to []string) (problems []FieldError) {
	if len(to) == 0 || len(to) > MaxRecipients {
		problems = append(problems, FieldError{Field: field, Code: "out_of_range", Message: fmt.Sprintf("The field %s must list 1 to %d e-mail addresses.", field, MaxRecipients)})
	}
	for i, address := range to {
		if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
			problems = append(problems, FieldError{Field: fmt.Sprintf("%s[%d]", field, i), Code: "invalid_email", Message: fmt.Sprintf("%q is no e-mail address.", address)})
		}
	}
	return problems
}

// ReportPeriod is the span of local days that a regular report is about: the first and the last one, as YYYY-MM-DD.
type ReportPeriod struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Range returns the period as a range of analytics.
func (p ReportPeriod) Range() string { return "custom:" + p.From + ".." + p.To }

// Period returns the latest period of a kind whose report is due at an instant: the week from Monday to Sunday, or the
// calendar month, that was over at eight o'clock on the clocks of loc. Spikes have none.
func (k ReportKind) Period(now time.Time, loc *time.Location) ReportPeriod {
	first := k.boundary(now, loc)
	switch k {
	case ReportWeekly:
		return ReportPeriod{first.AddDate(0, 0, -7).Format(time.DateOnly), first.AddDate(0, 0, -1).Format(time.DateOnly)}
	case ReportMonthly:
		return ReportPeriod{first.AddDate(0, -1, 0).Format(time.DateOnly), first.AddDate(0, 0, -1).Format(time.DateOnly)}
	case ReportSpike:
	}
	return ReportPeriod{}
}

// Next returns when the next period of a kind is due after an instant; the zero time for spikes.
func (k ReportKind) Next(now time.Time, loc *time.Location) time.Time {
	first := k.boundary(now, loc)
	switch k {
	case ReportWeekly:
		first = first.AddDate(0, 0, 7)
	case ReportMonthly:
		first = first.AddDate(0, 1, 0)
	case ReportSpike:
		return time.Time{}
	}
	return time.Date(first.Year(), first.Month(), first.Day(), reportHour, 0, 0, 0, loc)
}

// boundary returns the day, as midnight of UTC, on whose morning the latest due period ended: a Monday, or a first of a month.
func (k ReportKind) boundary(now time.Time, loc *time.Location) time.Time {
	local := now.In(loc)
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	if local.Hour() < reportHour {
		day = day.AddDate(0, 0, -1)
	}
	if k == ReportMonthly {
		return day.AddDate(0, 0, 1-day.Day())
	}
	const week = 7
	return day.AddDate(0, 0, -(int(day.Weekday())+week-int(time.Monday))%week)
}

// ReportValue is one page or source with its visitors.
type ReportValue struct {
	Value    string `json:"value"`
	Visitors uint64 `json:"visitors"`
}

// Spike is what a notice of a spike tells: who was there when it was seen.
type Spike struct {
	At       time.Time     `json:"at"`
	Visitors uint64        `json:"visitors"`
	Pages    []ReportValue `json:"pages,omitempty"`
	Sources  []ReportValue `json:"sources,omitempty"`
}

// ReportLetter is one message to one recipient that has not been taken by the mail server yet.
type ReportLetter struct {
	// ID is the same for every attempt, and for every node that makes one.
	ID        string       `json:"id"`
	To        string       `json:"to"`
	Period    ReportPeriod `json:"period,omitzero"`
	Spike     *Spike       `json:"spike,omitempty"`
	Attempts  int          `json:"attempts"`
	Next      time.Time    `json:"next"`
	CreatedAt time.Time    `json:"createdAt"`
}

// Report is a report with what was sent of it.
type Report struct {
	ID  string `json:"id"`
	App AppRef `json:"app"`
	ReportSpec
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Claimed is the latest period whose letters were made, SpikeAt when those of the latest spike were.
	Claimed ReportPeriod `json:"claimed,omitzero"`
	SpikeAt time.Time    `json:"spikeAt,omitzero"`
	// Letters wait for the mail server.
	Letters []ReportLetter `json:"letters,omitempty"`
	// SentAt is when the mail server took a letter last, Problem why it did not take the latest one; "" where it did.
	SentAt  time.Time `json:"sentAt,omitzero"`
	Problem string    `json:"problem,omitempty"`
}

// Update gives a report another specification. Letters to whom it names no more are dropped, and a report that was off begins
// with the period after the one that is due.
func (r *Report) Update(spec ReportSpec, due ReportPeriod, now time.Time) {
	if !r.Enabled && spec.Enabled {
		r.Claimed, r.Problem = due, ""
	}
	r.ReportSpec, r.UpdatedAt = spec, now
	r.Letters = slices.DeleteFunc(slices.Clone(r.Letters), func(l ReportLetter) bool { return !spec.Enabled || !slices.Contains(spec.Recipients, l.To) })
}

// Due reports whether the letters of a period, or of a spike, are still to be made.
func (r *Report) Due(period ReportPeriod, spike *Spike) bool {
	if !r.Enabled || len(r.Recipients) == 0 {
		return false
	}
	if r.Kind == ReportSpike {
		return spike != nil && spike.Visitors >= r.Threshold && spike.At.Sub(r.SpikeAt) >= SpikeRest
	}
	return period.From > r.Claimed.From // a change of the time zone never repeats a period
}

// Claim makes the letters of a period or of a spike, one for each recipient. Letters of an earlier period that were not taken are dropped.
func (r *Report) Claim(period ReportPeriod, spike *Spike, now time.Time) {
	about := period.From
	if spike != nil {
		r.SpikeAt, about = spike.At, spike.At.UTC().Format(time.RFC3339Nano)
	} else {
		r.Claimed = period
	}
	r.Letters = nil
	for _, to := range r.Recipients {
		r.Letters = append(r.Letters, ReportLetter{
			ID: "rpl_" + HashSecretHex(r.ID + "\x00" + about + "\x00" + to)[:26], To: to, Period: period, Spike: spike, Next: now, CreatedAt: now,
		})
	}
}

// Begin takes a letter for an attempt. It reports false where the letter is gone, or is another attempt's for now.
func (r *Report) Begin(id string, now time.Time) (letter ReportLetter, ok bool) {
	at := slices.IndexFunc(r.Letters, func(l ReportLetter) bool { return l.ID == id && !l.Next.After(now) })
	if at < 0 {
		return letter, false
	}
	r.Letters = slices.Clone(r.Letters)
	r.Letters[at].Attempts++
	r.Letters[at].Next = now.Add(attemptLease)
	return r.Letters[at], true
}

// End records what became of an attempt: problem is "" where the mail server took the letter. It reports false where the letter is gone.
func (r *Report) End(id, problem string, retry bool, now time.Time) bool {
	at := slices.IndexFunc(r.Letters, func(l ReportLetter) bool { return l.ID == id })
	if at < 0 {
		return false
	}
	r.Letters, r.Problem = slices.Clone(r.Letters), cut(problem, maxNoticeAnswer)
	if problem == "" {
		r.SentAt = now
	} else {
		letter := &r.Letters[at]
		// The attempt that is over is among those of the letter already.
		next, again := (Delivery{Attempts: letter.Attempts - 1, CreatedAt: letter.CreatedAt}).Failed(now, retry)
		if again {
			letter.Next = next.Next
			return true
		}
	}
	r.Letters = slices.Delete(r.Letters, at, at+1)
	return true
}

// RecipientHash names a recipient in links without the address.
func RecipientHash(address string) string { return HashSecretHex("recipient\x00" + address)[:32] }

// Unsubscribe takes a recipient out, whom a hash names. It reports false where there is none such.
func (r *Report) Unsubscribe(hash string) bool {
	none := func(address string) bool { return RecipientHash(address) == hash }
	if !slices.ContainsFunc(r.Recipients, none) {
		return false
	}
	r.Recipients = slices.DeleteFunc(slices.Clone(r.Recipients), none)
	r.Letters = slices.DeleteFunc(slices.Clone(r.Letters), func(l ReportLetter) bool { return none(l.To) })
	return true
}

// ReportContent is what a regular report tells.
type ReportContent struct {
	Overview Overview
	Pages    []ReportValue
	Sources  []ReportValue
	Goals    []GoalCount
}

// ReportMail is a letter with everything that it says.
type ReportMail struct {
	Letter      ReportLetter
	Kind        ReportKind
	App         AppRef
	AppName     string
	Environment string
	Location    *time.Location
	// Content is of a regular report.
	Content ReportContent
	// Threshold is that of a spike.
	Threshold uint64
	// Unsubscribe is the link by which the recipient leaves.
	Unsubscribe string
}
