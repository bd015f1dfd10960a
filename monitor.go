package svc

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// Bounds of monitors.
const (
	MaxIntervalSeconds = 86_400
	MinTimeoutMs       = 100
	MaxTimeoutMs       = 60_000
	MaxConfirmations   = 10
	MaxBodyText        = 1000 // bytes
	// MaxCheckedBody is how much of an answer's body a check looks at, in bytes.
	MaxCheckedBody = 1 << 20
)

// MonitorMethods lists the methods that a check may use.
func MonitorMethods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
}

// MonitorSpec says what a monitor checks and how often (contract 59).
type MonitorSpec struct {
	Name            string `json:"name"`
	URL             string `json:"url"`
	Method          string `json:"method"`
	ExpectedStatus  int    `json:"expectedStatus"`
	IntervalSeconds int    `json:"intervalSeconds"`
	TimeoutMs       int    `json:"timeoutMs"`
	Enabled         bool   `json:"enabled"`
	// BodyMatch must be in the body, BodyAbsent must not; empty asks for nothing.
	BodyMatch  string `json:"bodyMatch,omitempty"`
	BodyAbsent string `json:"bodyAbsent,omitempty"`
	// Confirmations is how many checks in a row must fail before the monitor is down.
	Confirmations int `json:"confirmations"`
}

// MonitorPatch holds the fields of a request; those that are nil keep their values.
type MonitorPatch struct {
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
func DefaultMonitor() MonitorSpec {
	return MonitorSpec{Method: "GET", ExpectedStatus: 200, IntervalSeconds: 60, TimeoutMs: 10_000, Enabled: true, Confirmations: 2}
}

// With returns the specification with the fields of a patch.
func (s MonitorSpec) With(p MonitorPatch) MonitorSpec {
	assign(&s.Name, p.Name)
	assign(&s.URL, p.URL)
	assign(&s.Method, p.Method)
	assign(&s.ExpectedStatus, p.ExpectedStatus)
	assign(&s.IntervalSeconds, p.IntervalSeconds)
	assign(&s.TimeoutMs, p.TimeoutMs)
	assign(&s.Enabled, p.Enabled)
	assign(&s.BodyMatch, p.BodyMatch)
	assign(&s.BodyAbsent, p.BodyAbsent)
	assign(&s.Confirmations, p.Confirmations)
	s.Name = strings.TrimSpace(s.Name)
	return s
}

// MonitorRules are the limits that an installation sets.
type MonitorRules struct {
	Targets Targets
	// LeastSeconds is the shortest interval.
	LeastSeconds int
}

// Validate returns every problem of the specification, none for a good one.
func (s MonitorSpec) Validate(rules MonitorRules) []FieldError {
	problems := validateName(s.Name)
	if problem := rules.Targets.Check(s.URL); problem != nil {
		problems = append(problems, *problem)
	}
	if !slices.Contains(MonitorMethods(), s.Method) {
		problems = append(problems, FieldError{Field: "method", Code: "unknown_value", Message: fmt.Sprintf("Unknown method %q.", s.Method), Allowed: MonitorMethods()})
	}
	if s.Method == "HEAD" && (s.BodyMatch != "" || s.BodyAbsent != "") {
		problems = append(problems, FieldError{Field: "method", Code: "no_body", Message: "An answer to HEAD has no body to look at."})
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
			problems = append(problems, outOfRange(bound.field, bound.least, bound.most))
		}
	}
	for _, text := range []struct{ field, value string }{{"bodyMatch", s.BodyMatch}, {"bodyAbsent", s.BodyAbsent}} {
		if len(text.value) > MaxBodyText {
			problems = append(problems, FieldError{Field: text.field, Code: "too_long", Message: fmt.Sprintf("The text is longer than %d bytes.", MaxBodyText)})
		}
	}
	return problems
}

func outOfRange(field string, least, most int) FieldError {
	return FieldError{Field: field, Code: "out_of_range", Message: fmt.Sprintf("The field %s must be a number from %d to %d.", field, least, most)}
}

// Interval is the time between two checks.
func (s MonitorSpec) Interval() time.Duration { return time.Duration(s.IntervalSeconds) * time.Second }

// Timeout bounds one check.
func (s MonitorSpec) Timeout() time.Duration { return time.Duration(s.TimeoutMs) * time.Millisecond }

// Monitor is a URL that is checked again and again.
type Monitor struct {
	ID string `json:"id"`
	MonitorSpec
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Next returns when the monitor is due after an instant. Due times are a function of the
// id and the interval alone, so they survive whatever happens, and the monitors of an
// interval are spread over it.
func (m *Monitor) Next(after time.Time) time.Time {
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.ID))
	interval := m.Interval().Milliseconds()
	phase := int64(h.Sum64() % uint64(interval))
	passed := (after.UnixMilli() - phase + interval) % interval
	return time.UnixMilli(after.UnixMilli() - passed + interval)
}

// First returns when the monitor is due first where checking begins at an instant; latest is
// when its latest check was, zero without any. One that is overdue, because its latest check
// is an interval old, is due half an interval after the place that it missed, unless it is
// due as usual sooner than that. So all that are overdue are checked within half an interval,
// never more than twice as many as usual at a time, none of them sooner than half an
// interval before its next check; and every interval has its check.
func (m *Monitor) First(begun, latest time.Time) time.Time {
	due := m.Next(begun)
	early := due.Add(-m.Interval() / 2)
	if begun.Sub(latest) >= m.Interval() && early.After(begun) {
		return early
	}
	return due
}

// StoredMonitor is a monitor as the store has it, with what its stored checks led to.
type StoredMonitor struct {
	App     AppRef
	Monitor Monitor
	State   MonitorState
	// Entity is the stored form of Monitor.
	Entity Entity
}

// MonitorRow is a monitor with what its checks found.
type MonitorRow struct {
	Monitor
	MonitorState
	// Checks30d counts the checks since the beginning of the hour 30 days ago, Up30d
	// those after which the monitor was not down.
	Checks30d, Up30d uint64
}

// Uptime30d returns the share of checks after which the monitor was not down, nil
// without checks.
func (r *MonitorRow) Uptime30d() *float64 {
	if r.Checks30d == 0 {
		return nil
	}
	share := float64(r.Up30d) / float64(r.Checks30d)
	return &share
}
