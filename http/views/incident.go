// Package views defines JSON forms that more than one surface shows: answers of the API, and notices to channels.
package views

import (
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/http/route"
)

// Actor is the person that made a change.
type Actor struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ActorOf returns the person that made a change, nil without one.
func ActorOf(a *domain.LedgerActor) *Actor {
	if a == nil {
		return nil
	}
	return &Actor{ID: a.ID, Name: a.Name}
}

// Incident is an incident (contract 64).
type Incident struct {
	ID              string               `json:"id"`
	RuleID          string               `json:"ruleId"`
	RuleName        string               `json:"ruleName"`
	Kind            alert.Kind           `json:"kind" open:"true"`
	Severity        string               `json:"severity"`
	Status          alert.IncidentStatus `json:"status" open:"true" doc:"open, acknowledged or resolved."`
	Environment     string               `json:"environment"`
	Title           string               `json:"title"`
	Value           *float64             `json:"value"`
	Threshold       float64              `json:"threshold"`
	Comparator      string               `json:"comparator"`
	StartedAt       route.Time           `json:"startedAt"`
	LastTriggeredAt route.Time           `json:"lastTriggeredAt"`
	AcknowledgedAt  *route.Time          `json:"acknowledgedAt"`
	AcknowledgedBy  *Actor               `json:"acknowledgedBy"`
	ResolvedAt      *route.Time          `json:"resolvedAt"`
	ResolvedBy      any                  `json:"resolvedBy" doc:"Who resolved it by hand, auto where the rule recovered, null where it is not resolved."`
	MonitorID       *string              `json:"monitorId" doc:"Of kind uptime: the monitor that is down."`
	IssueID         *string              `json:"issueId" doc:"Of kind new_issue: the latest issue."`
	Metric          *string              `json:"metric" doc:"Of kind metric: its name."`
	Labels          map[string]string    `json:"labels"`
	Occurrences     uint64               `json:"occurrences"`
	SilenceID       *string              `json:"silenceId" doc:"The silence because of which nobody has been told of it."`
	URL             string               `json:"url" doc:"Where the incidents of the application are listed."`
}

// IncidentOf returns an incident of an application as it is shown; origin is the scheme and host under which callers
// reach the service.
func IncidentOf(origin string, app domain.AppRef, i *alert.Incident) Incident {
	row := Incident{
		ID: i.ID, RuleID: i.RuleID, RuleName: i.RuleName, Kind: i.Kind, Severity: i.Severity, Status: i.Status, Environment: i.Environment, Title: i.Title,
		Value: i.Value, Threshold: i.Threshold, Comparator: i.Comparator, StartedAt: route.Time(i.StartedAt), LastTriggeredAt: route.Time(i.LastTriggeredAt),
		AcknowledgedAt: route.TimeOf(i.AcknowledgedAt), AcknowledgedBy: ActorOf(i.AcknowledgedBy), ResolvedAt: route.TimeOf(i.ResolvedAt), ResolvedBy: resolvedBy(i.ResolvedAt, i.ResolvedBy),
		MonitorID: known(i.MonitorID), IssueID: known(i.IssueID), Metric: known(i.Metric), Labels: i.Labels, Occurrences: i.Occurrences, SilenceID: known(i.SilenceID), URL: alert.IncidentURL(origin, app),
	}
	if row.Labels == nil {
		row.Labels = map[string]string{}
	}
	return row
}

// resolvedBy returns the actor that resolved an incident: a person, "auto", or nil if it is unresolved.
func resolvedBy(at *time.Time, by *domain.LedgerActor) any {
	switch {
	case by != nil:
		return ActorOf(by)
	case at != nil:
		return "auto"
	}
	return nil
}

// known returns a word, nil if it is empty.
func known(word string) *string {
	if word == "" {
		return nil
	}
	return &word
}
