package alert

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"time"

	"svc/domain"
)

// IncidentStatus is the status of an incident.
type IncidentStatus string

// The statuses (contract 65).
const (
	IncidentOpen         IncidentStatus = "open"
	IncidentAcknowledged IncidentStatus = "acknowledged"
	IncidentResolved     IncidentStatus = "resolved"
)

// Incident is one period in which a rule fired. A rule has at most one unresolved incident.
type Incident struct {
	ID              string              `json:"id"`
	RuleID          string              `json:"ruleId"`
	RuleName        string              `json:"ruleName"`
	Kind            Kind                `json:"kind"`
	Severity        string              `json:"severity"`
	Status          IncidentStatus      `json:"status"`
	Environment     string              `json:"environment"`
	Title           string              `json:"title"`
	Value           *float64            `json:"value,omitempty"`
	Threshold       float64             `json:"threshold"`
	Comparator      string              `json:"comparator"`
	StartedAt       time.Time           `json:"startedAt"`
	LastTriggeredAt time.Time           `json:"lastTriggeredAt"`
	AcknowledgedAt  *time.Time          `json:"acknowledgedAt,omitempty"`
	AcknowledgedBy  *domain.LedgerActor `json:"acknowledgedBy,omitempty"`
	ResolvedAt      *time.Time          `json:"resolvedAt,omitempty"`
	// ResolvedBy is nil if the rule recovered without a person.
	ResolvedBy  *domain.LedgerActor `json:"resolvedBy,omitempty"`
	MonitorID   string              `json:"monitorId,omitempty"`
	IssueID     string              `json:"issueId,omitempty"`
	Metric      string              `json:"metric,omitempty"`
	Labels      map[string]string   `json:"labels,omitempty"`
	Occurrences uint64              `json:"occurrences"`
	// Told says that the channels were notified of it as open. TellAt is when the channels are notified of an incident
	// that was reopened within the cooldown, unless it has ended by then.
	Told   bool      `json:"told,omitempty"`
	TellAt time.Time `json:"tellAt,omitzero"`
	// RegressedAt is when the channels were last notified of a regressed issue.
	RegressedAt time.Time `json:"regressedAt,omitzero"`
	// SilenceID is the silence that suppressed its notices, or empty.
	SilenceID string `json:"silenceId,omitempty"`
}

// Masked returns the incident as callers without people.pii.read see it: its texts from measurements and errors may
// identify a person.
func (i Incident) Masked() Incident {
	i.Title = domain.MaskShapes(i.Title)
	labels := make(map[string]string, len(i.Labels))
	for name, value := range i.Labels {
		labels[name] = domain.MaskShapes(value)
		if domain.IsPersonal(name) {
			labels[name] = domain.MaskText(value)
		}
	}
	i.Labels = labels
	return i
}

// Without returns the incident without words of an erased person, and whether it had any.
func (i Incident) Without(words []string) (Incident, bool) {
	title, labels := domain.BlankWords(i.Title, words), make(map[string]string, len(i.Labels))
	for name, value := range i.Labels {
		labels[domain.BlankWords(name, words)] = domain.BlankWords(value, words)
	}
	if title == i.Title && maps.Equal(labels, i.Labels) {
		return i, false
	}
	i.Title, i.Labels = title, labels
	return i, true
}

// Live reports whether the incident is unresolved.
func (i *Incident) Live() bool { return i != nil && i.Status != IncidentResolved }

// incidentID derives the id of a rule's incident from the rule and the time alone, so that the same history leads to
// the same ids. Ids sort by the time of their start.
func incidentID(rule string, at time.Time) string {
	var raw [16]byte
	sum := sha256.Sum256([]byte(rule))
	binary.BigEndian.PutUint64(raw[:8], uint64(at.UnixMilli())<<16)
	copy(raw[6:], sum[:10])
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	out := make([]byte, 26)
	high, low := binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])
	for i := 25; i >= 0; i-- {
		out[i] = alphabet[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return "inc_" + string(out)
}

// Acknowledge records that a person takes care of an incident: no repeated notices are sent. It fails with conflict if
// the incident is not open.
func (i Incident) Acknowledge(by domain.LedgerActor, now time.Time) (Incident, error) {
	if i.Status != IncidentOpen {
		return i, &domain.Error{Code: domain.CodeConflict, Reason: "incident_" + string(i.Status), Message: "The incident is " + string(i.Status) + " already."}
	}
	i.Status, i.AcknowledgedAt, i.AcknowledgedBy, i.TellAt = IncidentAcknowledged, &now, &by, time.Time{}
	return i, nil
}

// IncidentQuery selects a page of an application's incidents, the newest first.
type IncidentQuery struct {
	App domain.AppRef
	// Status and Environment are filters; empty selects all.
	Status      IncidentStatus
	Environment string
	// Before is the id before which the page ends, empty for the first page.
	Before string
	Limit  int
}

// NoticeEvent is the event that a notice reports.
type NoticeEvent string

// The events (contract 66).
const (
	NoticeOpen     NoticeEvent = "open"
	NoticeResolved NoticeEvent = "resolved"
	NoticeTest     NoticeEvent = "test"
)

// Notice is a message to a channel: an incident as it was at the event.
type Notice struct {
	Event    NoticeEvent   `json:"event"`
	App      domain.AppRef `json:"app"`
	Incident Incident      `json:"incident"`
}

// TestIncident returns the example incident of a notice that tests a channel.
func TestIncident(id, channel string, now time.Time) Incident {
	return Incident{
		ID: id, RuleName: "Test", Kind: EventVolume, Severity: "info", Status: IncidentOpen, Environment: domain.DefaultEnvironment,
		Title: "Test of the channel " + channel, Comparator: "gt", StartedAt: now, LastTriggeredAt: now, Occurrences: 1,
	}
}

// IncidentURL is the page with the incidents of an application.
func IncidentURL(publicURL string, app domain.AppRef) string {
	return publicURL + "/console#/apps/" + app.String() + "/incidents"
}
