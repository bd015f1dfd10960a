package telemetry

import (
	"context"
	"time"

	"svc"
	"svc/http/api"
	"svc/http/route"
)

type getTelemetry struct {
	api.AppPath
	Env api.Env `query:"env" doc:"The environment's slug."`
}

// telemetryAnswer is the answer of GET …/telemetry (contract 26).
type telemetryAnswer struct {
	Policy       svc.TelemetryPolicy `json:"policy"`
	Revision     int64               `json:"revision" doc:"What an update names as expectedRevision; 0 until the policy is first changed."`
	Environment  string              `json:"environment"`
	Usage        []usageDay          `json:"usage" doc:"30 UTC days, the oldest first, today among them."`
	Budgets      []budget            `json:"budgets" doc:"The signals that have a monthly budget."`
	BudgetAlerts []budgetAlert       `json:"budgetAlerts" doc:"The latest 50, the newest first."`
	Sampled      *sampled            `json:"sampled" doc:"null where all events are kept."`
	Ingest       ingest              `json:"ingest"`
}

// usageDay is what became of the items of one day. events, errors, metricPoints and flagEvaluations count what is
// stored; signals has, for each signal, received = stored + duplicates + dropped.
type usageDay struct {
	Date            string                     `json:"date" doc:"YYYY-MM-DD, in UTC."`
	Events          int64                      `json:"events" doc:"Stored events."`
	Errors          int64                      `json:"errors" doc:"Stored errors."`
	MetricPoints    int64                      `json:"metricPoints" doc:"Stored metric points."`
	FlagEvaluations int64                      `json:"flagEvaluations" doc:"Recorded evaluations."`
	Bytes           int64                      `json:"bytes" doc:"What the stored items take in the log, about."`
	Dropped         dropped                    `json:"dropped" doc:"Items of all signals that were not stored, by reason."`
	Signals         map[svc.Signal]signalUsage `json:"signals" doc:"The same for each signal, where received = stored + duplicates + all that was dropped."`
}

// signalUsage is what became of the items of one signal.
type signalUsage struct {
	Received   int64            `json:"received" doc:"All items that arrived or were reported."`
	Stored     int64            `json:"stored"`
	Duplicates int64            `json:"duplicates" doc:"Items that repeat one that is stored."`
	Dropped    dropped          `json:"dropped"`
	Codes      map[string]int64 `json:"codes" doc:"dropped.invalid by the code with which items were rejected."`
	Bytes      int64            `json:"bytes"`
}

// dropped counts items by the reason for which they were not stored.
type dropped struct {
	Budget      int64 `json:"budget" doc:"Over the monthly budget."`
	Sampled     int64 `json:"sampled" doc:"Of visitors outside the sample."`
	Invalid     int64 `json:"invalid" doc:"Items and whole requests that break a rule; codes says which."`
	Bot         int64 `json:"bot" doc:"Sent by programs, where the policy drops these."`
	BadKey      int64 `json:"badKey" doc:"Requests with a revoked key, or without a valid one for the ingest id that they name."`
	TooOld      int64 `json:"tooOld"`
	DeadLetter  int64 `json:"deadLetter" doc:"Accepted items that could not be stored and wait for the operator."`
	GivenUp     int64 `json:"givenUp" doc:"Dead letters that the operator gave up."`
	ClientSide  int64 `json:"clientSide" doc:"What SDKs report that they did not send."`
	Disabled    int64 `json:"disabled" doc:"Items of signals or modules that are off."`
	RateLimited int64 `json:"rateLimited" doc:"Errors beyond the rate of their issue or key."`
	Excluded    int64 `json:"excluded" doc:"Internal traffic, by the rules of …/exclusions."`
}

func droppedOf(by map[svc.Fate]int64) dropped {
	return dropped{
		Budget: by[svc.FateBudget], Sampled: by[svc.FateSampled], Invalid: by[svc.FateInvalid], Bot: by[svc.FateBot], BadKey: by[svc.FateBadKey],
		TooOld: by[svc.FateTooOld], DeadLetter: by[svc.FateDeadLetter], GivenUp: by[svc.FateGivenUp], ClientSide: by[svc.FateClientSide],
		Disabled: by[svc.FateDisabled], RateLimited: by[svc.FateRateLimited], Excluded: by[svc.FateExcluded],
	}
}

func usageDayOf(day *svc.UsageDay) usageDay {
	row := usageDay{Date: day.Date.Format(time.DateOnly), Signals: map[svc.Signal]signalUsage{}}
	all := map[svc.Fate]int64{}
	for signal, usage := range day.Signals {
		for fate, items := range usage.Dropped {
			all[fate] += items
		}
		row.Bytes += usage.Bytes
		row.Signals[signal] = signalUsage{
			Received: usage.Received(), Stored: usage.Stored, Duplicates: usage.Duplicates, Dropped: droppedOf(usage.Dropped), Codes: usage.Codes, Bytes: usage.Bytes,
		}
	}
	row.Dropped = droppedOf(all)
	row.Events, row.Errors = day.Signals[svc.SignalEvents].Stored, day.Signals[svc.SignalErrors].Stored
	row.MetricPoints, row.FlagEvaluations = day.Signals[svc.SignalMetrics].Stored, day.Signals[svc.SignalFlags].Stored
	return row
}

// budget is how far a monthly budget is used up.
type budget struct {
	Signal      svc.Signal  `json:"signal"`
	Budget      int64       `json:"budget"`
	Used        int64       `json:"used" doc:"Stored items of the running UTC month."`
	UsedPercent float64     `json:"usedPercent"`
	UsedUpAt    *route.Time `json:"usedUpAt" doc:"When the budget will be used up if usage goes on as in the last seven days; null where that is not in this month, or it is used up already."`
	OverSince   *route.Time `json:"overSince" doc:"Since when overBudget holds for the signal."`
}

// budgetAlert is one time that the channels were told.
type budgetAlert struct {
	ID          string     `json:"id"`
	Signal      svc.Signal `json:"signal"`
	Threshold   int        `json:"threshold" doc:"In percent of the budget."`
	UsedPercent float64    `json:"usedPercent"`
	At          route.Time `json:"at"`
	ChannelIDs  []string   `json:"channelIds"`
}

func budgetAlertOf(a *svc.BudgetAlert) budgetAlert {
	return budgetAlert{ID: a.ID, Signal: a.Signal, Threshold: a.Threshold, UsedPercent: a.UsedPercent, At: route.Time(a.At), ChannelIDs: append([]string{}, a.ChannelIDs...)}
}

// sampled says that answers about events count a share of the visitors.
type sampled struct {
	Rate  float64    `json:"rate"`
	Since route.Time `json:"since"`
}

// ingest says how far what was accepted is stored.
type ingest struct {
	LagMs       int64                       `json:"lagMs" doc:"The age of the oldest accepted item that is not stored."`
	LastEventAt *route.Time                 `json:"lastEventAt" doc:"When the last stored item of any signal arrived; null where none did in 30 days."`
	Signals     map[svc.Signal]signalIngest `json:"signals"`
}

// signalIngest is ingest for one signal.
type signalIngest struct {
	LastEventAt *route.Time `json:"lastEventAt"`
}

func (t telemetry) get(ctx context.Context, call *route.Call, in getTelemetry) (telemetryAnswer, error) {
	state, err := t.Policies.Telemetry(ctx, call.Ref(), in.Env.Environment)
	if err != nil {
		return telemetryAnswer{}, err
	}
	days := svc.NewUsageDays(call.Now, svc.UsageDays)
	month := svc.NewUsageDays(call.Now, call.Now.UTC().Day())
	since := days[0].Date
	if month[0].Date.Before(since) {
		since = month[0].Date
	}
	counts, err := t.Usage.Usage(ctx, in.Env.Number, since)
	if err != nil {
		return telemetryAnswer{}, err
	}
	svc.AddUsage(days, counts)
	svc.AddUsage(month, counts)
	answer := telemetryAnswer{
		Policy: state.Policy, Revision: state.Revision, Environment: in.Env.Slug, Usage: api.Convert(days, usageDayOf),
		Budgets: budgetsOf(&state, days, month, call.Now), BudgetAlerts: api.Convert(state.Alerts, budgetAlertOf),
		Ingest: ingestOf(days, t.Lag()),
	}
	if s := state.Sampling(svc.SignalEvents, call.Now); s != nil {
		answer.Sampled = &sampled{Rate: s.Rate, Since: route.Time(s.Since)}
	}
	return answer, nil
}

// usualDays is how many days say what a usual day is.
const usualDays = 7

// budgetsOf returns the budgets of a month whose days are given, and of which the last days say how it will go on.
func budgetsOf(state *svc.TelemetryState, days, month []svc.UsageDay, now time.Time) []budget {
	budgets := []budget{}
	for _, signal := range svc.Signals() {
		limit := state.Policy.Budget(signal)
		if limit == nil {
			continue
		}
		row := budget{Signal: signal, Budget: *limit, UsedPercent: 100}
		for i := range month {
			row.Used += month[i].Signals[signal].Stored
		}
		recent, span := int64(0), 0.0
		for i := range days[len(days)-usualDays:] {
			recent += days[len(days)-usualDays+i].Signals[signal].Stored
		}
		span = usualDays - 1 + now.UTC().Sub(days[len(days)-1].Date).Hours()/24
		if *limit > 0 {
			row.UsedPercent = 100 * float64(row.Used) / float64(*limit)
		}
		row.UsedUpAt = route.TimeOf(svc.Projection(row.Used, *limit, float64(recent)/span, now))
		if since, over := state.Over[signal]; over && state.Month == svc.MonthOf(now) {
			row.OverSince = route.TimeOf(&since)
		}
		budgets = append(budgets, row)
	}
	return budgets
}

func ingestOf(days []svc.UsageDay, lag time.Duration) ingest {
	out := ingest{LagMs: lag.Milliseconds(), Signals: map[svc.Signal]signalIngest{}}
	var latest time.Time
	for _, signal := range svc.Signals() {
		var last time.Time
		for i := range days {
			if at := days[i].Signals[signal].LastAt; at.After(last) {
				last = at
			}
		}
		row := signalIngest{}
		if !last.IsZero() {
			row.LastEventAt = route.TimeOf(&last)
		}
		if last.After(latest) {
			latest = last
		}
		out.Signals[signal] = row
	}
	if !latest.IsZero() {
		out.LastEventAt = route.TimeOf(&latest)
	}
	return out
}
