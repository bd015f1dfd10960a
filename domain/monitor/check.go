package monitor

import (
	"bytes"
	"fmt"
	"time"

	"svc/domain"
)

// Status is the state of a monitor after its latest check.
type Status string

// The statuses. A monitor is degraded while a failure is unconfirmed, and while its certificate ends within
// CertificateWarning.
const (
	StatusUp       Status = "up"
	StatusDegraded Status = "degraded"
	StatusDown     Status = "down"
)

const (
	// CertificateWarning is how long before its end a certificate degrades a monitor.
	CertificateWarning = 7 * 24 * time.Hour
	// RecheckAfter is when an unconfirmed failure is checked again; a shorter interval takes precedence.
	RecheckAfter = 5 * time.Second
)

// CheckResult is the result of one check.
type CheckResult struct {
	At time.Time
	// Error describes the failure in a sentence, "" if the check passed.
	Error string
	// StatusCode is the status code of the answer, 0 without one.
	StatusCode int
	Phases     CheckPhases
	// CertificateEnds is zero without TLS.
	CertificateEnds time.Time
}

// CheckPhases are the parts of a check's time in microseconds. With a reused connection the first three are 0.
type CheckPhases struct {
	DNS, Connect, TLS, FirstByte, Total uint32
}

// LatencyMs rounds microseconds to milliseconds.
func LatencyMs(micros uint32) uint32 { return (micros + 500) / 1000 }

// State is the state of a monitor after its checks.
type State struct {
	LastStatus          Status    `json:"lastStatus,omitempty"`
	LastCheckedAt       time.Time `json:"lastCheckedAt,omitzero"`
	LastLatencyMs       uint32    `json:"lastLatencyMs,omitempty"`
	LastError           string    `json:"lastError,omitempty"`
	ConsecutiveFailures uint32    `json:"consecutiveFailures,omitempty"`
}

// Apply returns the state after a check.
func (s State) Apply(spec Spec, r CheckResult) State {
	next := State{LastStatus: StatusUp, LastCheckedAt: r.At, LastLatencyMs: LatencyMs(r.Phases.Total), LastError: r.Error}
	switch {
	case r.Error != "":
		next.ConsecutiveFailures = s.ConsecutiveFailures + 1
		next.LastStatus = StatusDegraded
		if s.LastStatus == StatusDown || next.ConsecutiveFailures >= uint32(spec.Confirmations) {
			next.LastStatus = StatusDown
		}
	case !r.CertificateEnds.IsZero() && r.CertificateEnds.Sub(r.At) < CertificateWarning:
		next.LastStatus = StatusDegraded
		next.LastError = fmt.Sprintf("The certificate ends on %s.", r.CertificateEnds.UTC().Format(time.DateOnly))
	}
	return next
}

// Next returns when the monitor is due after its latest check. It is sooner than the interval while a failure is
// unconfirmed.
func (s State) Next(m *Monitor, now time.Time) time.Time {
	due := m.Next(now)
	if recheck := now.Add(RecheckAfter); s.ConsecutiveFailures > 0 && s.LastStatus != StatusDown && recheck.Before(due) {
		return recheck
	}
	return due
}

// Down returns the number of consecutive failures that an alert rule sees: 0 before the monitor is down.
func (s State) Down() uint32 {
	if s.LastStatus != StatusDown {
		return 0
	}
	return s.ConsecutiveFailures
}

// Check is one stored check of a monitor.
type Check struct {
	App     domain.AppRef
	Monitor string
	Result  CheckResult
	State   State
}

// Judge returns the reason why an answer does not meet a specification, "" if it does. body is the part of the body
// that a check reads, as UTF-8.
func (s Spec) Judge(status int, body []byte) string {
	switch {
	case status != s.ExpectedStatus:
		return fmt.Sprintf("The status was %d, not %d.", status, s.ExpectedStatus)
	case s.BodyMatch != "" && !bytes.Contains(body, []byte(s.BodyMatch)):
		return "The body does not contain the text of bodyMatch."
	case s.BodyAbsent != "" && bytes.Contains(body, []byte(s.BodyAbsent)):
		return "The body contains the text of bodyAbsent."
	}
	return ""
}
