package api

import (
	"context"
	"slices"

	"svc"
	"svc/http"
)

// Incidents reads the incidents of applications.
type Incidents interface {
	// Incidents returns a page, the newest first, and whether more follow. An empty
	// status asks for all; before is the id that the page ends in front of.
	Incidents(ctx context.Context, app svc.AppRef, status svc.IncidentStatus, before string, limit int) (page []svc.Incident, more bool, err error)
}

// incidents answers the routes of incidents.
type incidents struct {
	alerts    Alerts
	incidents Incidents
}

// incident is an incident as answers show it (decision 64).
type incident struct {
	ID              string             `json:"id"`
	RuleID          string             `json:"ruleId"`
	RuleName        string             `json:"ruleName"`
	Kind            svc.AlertKind      `json:"kind"`
	Severity        string             `json:"severity"`
	Status          svc.IncidentStatus `json:"status" doc:"open, acknowledged or resolved."`
	Environment     string             `json:"environment"`
	Title           string             `json:"title"`
	Value           *float64           `json:"value"`
	Threshold       float64            `json:"threshold"`
	Comparator      string             `json:"comparator"`
	StartedAt       http.Time          `json:"startedAt"`
	LastTriggeredAt http.Time          `json:"lastTriggeredAt"`
	AcknowledgedAt  *http.Time         `json:"acknowledgedAt"`
	AcknowledgedBy  *ledgerActor       `json:"acknowledgedBy"`
	ResolvedAt      *http.Time         `json:"resolvedAt"`
	ResolvedBy      any                `json:"resolvedBy" doc:"Who resolved it by hand, auto where the rule recovered, null where it is not resolved."`
	MonitorID       string             `json:"monitorId,omitempty"`
	IssueID         string             `json:"issueId,omitempty"`
	Metric          string             `json:"metric,omitempty"`
	Labels          map[string]string  `json:"labels"`
	Occurrences     uint64             `json:"occurrences"`
	URL             string             `json:"url"`
}

func incidentOf(ref svc.AppRef) func(i *svc.Incident) incident {
	return func(i *svc.Incident) incident {
		row := incident{
			ID: i.ID, RuleID: i.RuleID, RuleName: i.RuleName, Kind: i.Kind, Severity: i.Severity, Status: i.Status, Environment: i.Environment, Title: i.Title,
			Value: i.Value, Threshold: i.Threshold, Comparator: i.Comparator, StartedAt: http.Time(i.StartedAt), LastTriggeredAt: http.Time(i.LastTriggeredAt),
			AcknowledgedAt: http.TimeOf(i.AcknowledgedAt), ResolvedAt: http.TimeOf(i.ResolvedAt), MonitorID: i.MonitorID, IssueID: i.IssueID, Metric: i.Metric,
			Labels: i.Labels, Occurrences: i.Occurrences, URL: svc.IncidentURL("", ref),
		}
		if i.AcknowledgedBy != nil {
			row.AcknowledgedBy = (*ledgerActor)(i.AcknowledgedBy)
		}
		switch {
		case i.ResolvedBy != nil:
			row.ResolvedBy = ledgerActor(*i.ResolvedBy)
		case i.ResolvedAt != nil:
			row.ResolvedBy = "auto"
		}
		if row.Labels == nil {
			row.Labels = map[string]string{}
		}
		return row
	}
}

// incidentStatus is the parameter status of the list.
type incidentStatus svc.IncidentStatus

func incidentWords() []string { return []string{"open", "acknowledged", "resolved", "all"} }

// Parse reads the status; open ones are meant where the request names none.
func (s *incidentStatus) Parse(_ *http.Call, words []string) []svc.FieldError {
	word := first(words)
	switch {
	case word == "":
		*s = incidentStatus(svc.IncidentOpen)
	case !slices.Contains(incidentWords(), word):
		return []svc.FieldError{unknownWord("status", "status", word, incidentWords())}
	case word != "all":
		*s = incidentStatus(word)
	}
	return nil
}

// Schema describes the parameter.
func (incidentStatus) Schema() http.Schema {
	return http.Schema{"type": "string", "enum": incidentWords(), "default": "open"}
}

type listIncidents struct {
	appPath
	paging
	Status incidentStatus `query:"status" doc:"Where the incidents stand."`
}

func (i incidents) list(ctx context.Context, call *http.Call, in listIncidents) (svc.Page[incident], error) {
	keyset, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return svc.Page[incident]{}, err
	}
	page, more, err := i.incidents.Incidents(ctx, call.Ref(), svc.IncidentStatus(in.Status), first(keyset), int(in.Limit))
	if err != nil {
		return svc.Page[incident]{}, err
	}
	return http.PageOf(call, convert(page, incidentOf(call.Ref())), more, func(last incident) []string { return []string{last.ID} }), nil
}

type incidentPath struct {
	appPath
	ID string `path:"id" doc:"The incident's id."`
}

// actorOf is the person behind a call.
func actorOf(call *http.Call) svc.LedgerActor {
	if user := call.Grant.Token.User; user != nil {
		return svc.LedgerActor{ID: user.ID, Name: user.Name}
	}
	return svc.LedgerActor{}
}

func (i incidents) acknowledge(ctx context.Context, call *http.Call, in incidentPath) (incident, error) {
	changed, err := i.alerts.Acknowledge(ctx, call.Ref(), in.ID, actorOf(call))
	return incidentOf(call.Ref())(&changed), err
}

func (i incidents) resolve(ctx context.Context, call *http.Call, in incidentPath) (incident, error) {
	changed, err := i.alerts.Resolve(ctx, call.Ref(), in.ID, actorOf(call))
	return incidentOf(call.Ref())(&changed), err
}
