package monitor

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// Limits of monitors.
const (
	MaxIntervalSeconds = 86_400
	MinTimeoutMs       = 100
	MaxTimeoutMs       = 60_000
	MaxConfirmations   = 10
	MaxBodyText        = 1000 // bytes
	// MaxCheckedBody is the part of an answer's body that a check reads, in bytes.
	MaxCheckedBody = 1 << 20
)

// Methods lists the methods that a check may use.
func Methods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
}

// Spec defines the checks of a monitor and their interval (contract 59).
type Spec struct {
	Name            string `json:"name"`
	URL             string `json:"url"`
	Method          string `json:"method"`
	ExpectedStatus  int    `json:"expectedStatus"`
	IntervalSeconds int    `json:"intervalSeconds"`
	TimeoutMs       int    `json:"timeoutMs"`
	Enabled         bool   `json:"enabled"`
	// BodyMatch must be in the body, BodyAbsent must not; empty requires nothing.
	BodyMatch  string `json:"bodyMatch,omitempty"`
	BodyAbsent string `json:"bodyAbsent,omitempty"`
	// Confirmations is the number of consecutive failed checks after which the monitor is down.
	Confirmations int `json:"confirmations"`
}

// Patch holds the fields of a request; nil fields keep their values.
type Patch struct {
	Name            *string `json:"name,omitempty"`
	URL             *string `json:"url,omitempty"`
	Method          *string `json:"method,omitempty"`
	ExpectedStatus  *int    `json:"expectedStatus,omitempty"`
	IntervalSeconds *int    `json:"intervalSeconds,omitempty"`
	TimeoutMs       *int    `json:"timeoutMs,omitempty"`
	Enabled         *bool   `json:"enabled,omitempty"`
	BodyMatch       *string `json:"bodyMatch,omitempty"`
	BodyAbsent      *string `json:"bodyAbsent,omitempty"`
	Confirmations   *int    `json:"confirmations,omitempty"`
}

// DefaultMonitor holds the values of a new monitor that a request leaves out.
func DefaultMonitor() Spec {
	return Spec{Method: "GET", ExpectedStatus: 200, IntervalSeconds: 60, TimeoutMs: 10_000, Enabled: true, Confirmations: 2}
}

// With returns the specification with the fields of a patch.
func (s Spec) With(p Patch) Spec {
	domain.Assign(&s.Name, p.Name)
	domain.Assign(&s.URL, p.URL)
	domain.Assign(&s.Method, p.Method)
	domain.Assign(&s.ExpectedStatus, p.ExpectedStatus)
	domain.Assign(&s.IntervalSeconds, p.IntervalSeconds)
	domain.Assign(&s.TimeoutMs, p.TimeoutMs)
	domain.Assign(&s.Enabled, p.Enabled)
	domain.Assign(&s.BodyMatch, p.BodyMatch)
	domain.Assign(&s.BodyAbsent, p.BodyAbsent)
	domain.Assign(&s.Confirmations, p.Confirmations)
	s.Name = strings.TrimSpace(s.Name)
	return s
}

// Rules are the limits of an installation.
type Rules struct {
	Targets domain.Targets
	// LeastSeconds is the shortest interval.
	LeastSeconds int
}

// Validate returns every problem of the specification, none if it is valid.
func (s Spec) Validate(rules Rules) []domain.FieldError {
	problems := domain.ValidateName(s.Name)
	if problem := rules.Targets.Check(s.URL); problem != nil {
		problems = append(problems, *problem)
	}
	if !slices.Contains(Methods(), s.Method) {
		problems = append(problems, domain.FieldError{Field: "method", Code: "unknown_value", Message: fmt.Sprintf("Unknown method %q.", s.Method), Allowed: Methods()})
	}
	if s.Method == "HEAD" && (s.BodyMatch != "" || s.BodyAbsent != "") {
		problems = append(problems, domain.FieldError{Field: "method", Code: "no_body", Message: "An answer to HEAD has no body to look at."})
	}
	for _, bound := range []struct {
		field              string
		value, least, most int
	}{
		{"expectedStatus", s.ExpectedStatus, 200, 599},
		{"intervalSeconds", s.IntervalSeconds, rules.LeastSeconds, MaxIntervalSeconds},
		{"timeoutMs", s.TimeoutMs, MinTimeoutMs, MaxTimeoutMs},
		{"confirmations", s.Confirmations, 1, MaxConfirmations},
	} {
		if bound.value < bound.least || bound.value > bound.most {
			problems = append(problems, domain.OutOfRange(bound.field, bound.least, bound.most))
		}
	}
	for _, text := range []struct{ field, value string }{{"bodyMatch", s.BodyMatch}, {"bodyAbsent", s.BodyAbsent}} {
		if len(text.value) > MaxBodyText {
			problems = append(problems, domain.FieldError{Field: text.field, Code: "too_long", Message: fmt.Sprintf("The text is longer than %d bytes.", MaxBodyText)})
		}
	}
	return problems
}

// Interval is the time between two checks.
func (s Spec) Interval() time.Duration { return time.Duration(s.IntervalSeconds) * time.Second }

// Timeout limits one check.
func (s Spec) Timeout() time.Duration { return time.Duration(s.TimeoutMs) * time.Millisecond }

// Monitor is a URL that is checked periodically.
type Monitor struct {
	ID string `json:"id"`
	Spec
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Next returns when the monitor is due after an instant. Due times depend only on the id and the interval, so they
// survive any restart, and the monitors of an interval are spread over it.
func (m *Monitor) Next(after time.Time) time.Time {
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.ID))
	interval := m.Interval().Milliseconds()
	phase := int64(h.Sum64() % uint64(interval))
	passed := (after.UnixMilli() - phase + interval) % interval
	return time.UnixMilli(after.UnixMilli() - passed + interval)
}

// First returns when the monitor is first due if checking begins at an instant; latest is the time of its latest check,
// zero if there was none. A monitor is overdue if its latest check is an interval old. It is then due half an interval
// before its next regular time, unless that instant has passed. So all overdue monitors are checked within half an
// interval, never more than twice as many as usual at a time. No check comes sooner than half an interval before the
// next one, and every interval has its check.
func (m *Monitor) First(begun, latest time.Time) time.Time {
	due := m.Next(begun)
	early := due.Add(-m.Interval() / 2)
	if begun.Sub(latest) >= m.Interval() && early.After(begun) {
		return early
	}
	return due
}

// StoredMonitor is a monitor in the store, with the state after its stored checks.
type StoredMonitor struct {
	App     domain.AppRef
	Monitor Monitor
	State   State
	// Entity is the stored form of Monitor.
	Entity domain.Entity
}

// Row is a monitor with the results of its checks.
type Row struct {
	Monitor
	State
	// Checks30d counts the checks since the beginning of the hour 30 days ago, Up30d the checks after which the monitor
	// was not down.
	Checks30d, Up30d uint64
}

// Uptime30d returns the share of checks after which the monitor was not down, nil without checks.
func (r *Row) Uptime30d() *float64 {
	if r.Checks30d == 0 {
		return nil
	}
	share := float64(r.Up30d) / float64(r.Checks30d)
	return &share
}
