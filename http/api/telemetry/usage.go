package telemetry

import (
	"cmp"
	"context"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/http/api"
	"svc/http/route"
)

type getTelemetry struct {
	api.AppPath
	Env api.Env `query:"env" doc:"The environment's slug."`
}

// telemetryAnswer is the answer of GET …/telemetry (contract 26).
type telemetryAnswer struct {
	Policy       telemetry.Policy `json:"policy"`
	Revision     int64            `json:"revision" doc:"What an update names as expectedRevision; 0 until the policy is first changed."`
	Environment  string           `json:"environment"`
	Usage        []usageDay       `json:"usage" doc:"30 UTC days, the oldest first, today among them."`
	Budgets      []budget         `json:"budgets" doc:"The signals that have a monthly budget."`
	BudgetAlerts []budgetAlert    `json:"budgetAlerts" doc:"The latest 50, the newest first."`
	Silent       []silentSignal   `json:"silentSignals" doc:"Signals that used to come and have stopped, where alerts.silentSignals has them watched."`
	Sampled      *api.Sampled     `json:"sampled" doc:"null where all events are kept."`
	Ingest       ingestJSON       `json:"ingest"`
	Fairness     fairness         `json:"fairness" doc:"What bounds the application so that it does not cost others, on the node that answers."`
}

// fairness is the bound of an application, its use, and the senders that reached it.
type fairness struct {
	BytesPerSecond      int64      `json:"bytesPerSecond" doc:"What the application sent in the last two seconds."`
	BoundBytesPerSecond *int64     `json:"boundBytesPerSecond" doc:"What it may send; null while nothing bounds it. It is bounded while it sends more than an equal part, and others send too."`
	ErrorsPerMinute     int        `json:"errorsPerMinute" doc:"Errors that each key may send on Sentry's paths; 0 for no bound."`
	Addresses           addressUse `json:"addresses" doc:"What single addresses send with public keys, and may send."`
	Met                 []metRow   `json:"met" doc:"The senders of the environment that were held back within an hour."`
}

// addressUse is the bound of one address and its use. An IPv6 address stands for its /64.
type addressUse struct {
	Sending             int    `json:"sending" doc:"Public addresses that sent to the application in the last two seconds."`
	BytesPerSecond      int64  `json:"bytesPerSecond" doc:"What the one that sends most sends to the application."`
	BoundBytesPerSecond *int64 `json:"boundBytesPerSecond" doc:"What that one may send to all applications together; null while nothing bounds it. An address is bounded while it sends more than an equal part, and much, and others send too."`
}

// metRow is a sender that was throttled.
type metRow struct {
	KeyID       string     `json:"keyId"`
	Network     *string    `json:"network" doc:"The network of the sender's address, as /24 or /48, where the key is public; null otherwise."`
	Delayed     int64      `json:"delayed" doc:"Requests that waited."`
	Refused     int64      `json:"refused" doc:"Those among them that were answered 503, to be sent again."`
	ByAddress   int64      `json:"byAddress" doc:"Requests that waited because their address sent more than its part."`
	RateLimited int64      `json:"rateLimited" doc:"Errors beyond errorsPerMinute."`
	LastAt      route.Time `json:"lastAt"`
}

func metRowOf(m *telemetry.FairnessMet) metRow {
	row := metRow{KeyID: m.KeyID, Delayed: m.Delayed, Refused: m.Refused, ByAddress: m.ByAddress, RateLimited: m.RateLimited, LastAt: route.Time(m.LastAt)}
	if m.Network != "" {
		row.Network = &m.Network
	}
	return row
}

// fairnessOf returns the bounds of an application.
func (t handlers) fairnessOf(app string, environment uint64, now time.Time) fairness {
	found := t.Fairness(app, environment, now)
	return fairness{
		BytesPerSecond: int64(found.BytesPerSecond), BoundBytesPerSecond: wholeOf(found.Bound), ErrorsPerMinute: t.ErrorsPerMinute,
		Addresses: addressUse{Sending: found.Addresses, BytesPerSecond: int64(found.AddressBytesPerSecond), BoundBytesPerSecond: wholeOf(found.AddressBound)},
		Met:       api.Convert(found.Met, metRowOf),
	}
}

// wholeOf returns a rate in whole bytes, nil for no rate.
func wholeOf(rate *float64) *int64 {
	if rate == nil {
		return nil
	}
	whole := int64(*rate)
	return &whole
}

// usageDay shows the items of one day by outcome. events, errors, metricPoints and flagEvaluations count stored items;
// signals has, for each signal, received = stored + duplicates + dropped.
type usageDay struct {
	Date            string                        `json:"date" doc:"YYYY-MM-DD, in UTC."`
	Events          int64                         `json:"events" doc:"Stored events."`
	Errors          int64                         `json:"errors" doc:"Stored errors."`
	MetricPoints    int64                         `json:"metricPoints" doc:"Stored metric points."`
	FlagEvaluations int64                         `json:"flagEvaluations" doc:"Recorded evaluations."`
	Bytes           int64                         `json:"bytes" doc:"What the stored items take in the log, about."`
	Dropped         dropped                       `json:"dropped" doc:"Items of all signals that were not stored, by reason."`
	Signals         map[ingest.Signal]signalUsage `json:"signals" doc:"The same for each signal, where received = stored + duplicates + all that was dropped."`
}

// signalUsage shows the items of one signal by outcome.
type signalUsage struct {
	Received   int64            `json:"received" doc:"All items that arrived or were reported."`
	Stored     int64            `json:"stored"`
	Duplicates int64            `json:"duplicates" doc:"Items that repeat one that is stored."`
	Dropped    dropped          `json:"dropped"`
	Codes      map[string]int64 `json:"codes" doc:"dropped.invalid by the code with which items were rejected."`
	Stripped   map[string]int64 `json:"stripped" doc:"Parts that were left out of items, which are kept otherwise, by the code that says why. They are not among the items that arrived."`
	ClientSide []clientReason   `json:"clientSide" doc:"dropped.clientSide by what the clients say of it, the most frequent first: at most 15 reasons by 4 categories."`
	Bytes      int64            `json:"bytes"`
}

// clientReason counts items that clients did not send.
type clientReason struct {
	Reason   string `json:"reason" doc:"As SDKs of Sentry word it: queue_overflow, sample_rate, before_send, network_error and so on; other for words of nobody."`
	Category string `json:"category" doc:"As SDKs of Sentry word it: error, default, security or session."`
	Items    int64  `json:"items"`
}

// clientReasonsOf lists counts by reason, the greatest first.
func clientReasonsOf(counts map[string]int64) []clientReason {
	rows := make([]clientReason, 0, len(counts))
	for code, items := range counts {
		of := ingest.ClientReasonOf(code)
		rows = append(rows, clientReason{Reason: of.Reason, Category: of.Category, Items: items})
	}
	slices.SortFunc(rows, func(a, b clientReason) int {
		return cmp.Or(cmp.Compare(b.Items, a.Items), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Category, b.Category))
	})
	return rows
}

// dropped counts items by the reason why they were not stored.
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

func droppedOf(by map[ingest.Fate]int64) dropped {
	return dropped{
		Budget: by[ingest.FateBudget], Sampled: by[ingest.FateSampled], Invalid: by[ingest.FateInvalid], Bot: by[ingest.FateBot], BadKey: by[ingest.FateBadKey],
		TooOld: by[ingest.FateTooOld], DeadLetter: by[ingest.FateDeadLetter], GivenUp: by[ingest.FateGivenUp], ClientSide: by[ingest.FateClientSide],
		Disabled: by[ingest.FateDisabled], RateLimited: by[ingest.FateRateLimited], Excluded: by[ingest.FateExcluded],
	}
}

func usageDayOf(day *ingest.UsageDay) usageDay {
	row := usageDay{Date: day.Date.Format(time.DateOnly), Signals: map[ingest.Signal]signalUsage{}}
	all := map[ingest.Fate]int64{}
	for signal, usage := range day.Signals {
		for fate, items := range usage.Dropped {
			all[fate] += items
		}
		row.Bytes += usage.Bytes
		row.Signals[signal] = signalUsage{
			Received: usage.Received(), Stored: usage.Stored, Duplicates: usage.Duplicates, Dropped: droppedOf(usage.Dropped), Codes: usage.Codes,
			Stripped: usage.Stripped, ClientSide: clientReasonsOf(usage.ClientReasons), Bytes: usage.Bytes,
		}
	}
	row.Dropped = droppedOf(all)
	row.Events, row.Errors = day.Signals[ingest.SignalEvents].Stored, day.Signals[ingest.SignalErrors].Stored
	row.MetricPoints, row.FlagEvaluations = day.Signals[ingest.SignalMetrics].Stored, day.Signals[ingest.SignalFlags].Stored
	return row
}

// budget is the use of a monthly budget.
type budget struct {
	Signal      ingest.Signal `json:"signal"`
	Budget      int64         `json:"budget"`
	Used        int64         `json:"used" doc:"Stored items of the running UTC month."`
	UsedPercent float64       `json:"usedPercent"`
	UsedUpAt    *route.Time   `json:"usedUpAt" doc:"When the budget will be used up if usage goes on as in the last seven days; null where that is not in this month, or it is used up already."`
	OverSince   *route.Time   `json:"overSince" doc:"Since when overBudget holds for the signal."`
}

// budgetAlert is one notification of the channels.
type budgetAlert struct {
	ID          string        `json:"id"`
	Signal      ingest.Signal `json:"signal"`
	Threshold   int           `json:"threshold" doc:"In percent of the budget."`
	UsedPercent float64       `json:"usedPercent"`
	At          route.Time    `json:"at"`
	ChannelIDs  []string      `json:"channelIds"`
}

func budgetAlertOf(a *telemetry.BudgetAlert) budgetAlert {
	return budgetAlert{ID: a.ID, Signal: a.Signal, Threshold: a.Threshold, UsedPercent: a.UsedPercent, At: route.Time(a.At), ChannelIDs: append([]string{}, a.ChannelIDs...)}
}

// silentSignal is a signal that has stopped.
type silentSignal struct {
	Signal       ingest.Signal `json:"signal"`
	LastAt       route.Time    `json:"lastAt" doc:"When the last item arrived."`
	NoticedAt    route.Time    `json:"noticedAt" doc:"When the channels were told."`
	UsualPauseMs int64         `json:"usualPauseMs" doc:"It was noticed after three times as long."`
	ChannelIDs   []string      `json:"channelIds" doc:"Who was told."`
}

func silentSignalsOf(state *telemetry.State) []silentSignal {
	rows := []silentSignal{}
	for _, signal := range ingest.Signals() {
		if one, silent := state.Silent[signal]; silent {
			rows = append(rows, silentSignal{
				Signal: signal, LastAt: route.Time(one.LastAt), NoticedAt: route.Time(one.Since), UsualPauseMs: one.UsualPause.Milliseconds(), ChannelIDs: append([]string{}, one.ChannelIDs...),
			})
		}
	}
	return rows
}

// ingestJSON shows how far the stored items are behind the accepted ones.
type ingestJSON struct {
	LagMs       int64                          `json:"lagMs" doc:"The age of the oldest accepted item that is not stored."`
	LastEventAt *route.Time                    `json:"lastEventAt" doc:"When the last stored item of any signal arrived; null where none did in 30 days."`
	Signals     map[ingest.Signal]signalIngest `json:"signals"`
}

// signalIngest is ingest for one signal.
type signalIngest struct {
	LagMs       int64       `json:"lagMs" doc:"No item of the signal that was accepted and is not stored is older. All signals come through the same log and are stored together."`
	LastEventAt *route.Time `json:"lastEventAt"`
}

func (t handlers) get(ctx context.Context, call *route.Call, in getTelemetry) (telemetryAnswer, error) {
	state, err := t.Policies.Telemetry(ctx, call.Ref(), in.Env.Environment)
	if err != nil {
		return telemetryAnswer{}, err
	}
	days := ingest.NewUsageDays(call.Now, ingest.UsageDays)
	month := ingest.NewUsageDays(call.Now, call.Now.UTC().Day())
	since := days[0].Date
	if month[0].Date.Before(since) {
		since = month[0].Date
	}
	counts, err := t.Usage.Usage(ctx, in.Env.Number, since)
	if err != nil {
		return telemetryAnswer{}, err
	}
	ingest.AddUsage(days, counts)
	ingest.AddUsage(month, counts)
	answer := telemetryAnswer{
		Policy: state.Policy, Revision: state.Revision, Environment: in.Env.Slug, Usage: api.Convert(days, usageDayOf),
		Budgets: budgetsOf(&state, days, month, call.Now), BudgetAlerts: api.Convert(state.Alerts, budgetAlertOf), Silent: silentSignalsOf(&state),
		Sampled: api.SampledOf(state.Sampling(ingest.SignalEvents, call.Now)), Ingest: ingestOf(days, t.Lag()),
		Fairness: t.fairnessOf(call.App.ID, in.Env.Number, call.Now),
	}
	return answer, nil
}

// usualDays is the number of days that define a usual day.
const usualDays = 7

// budgetsOf returns the budgets of a month with the given days. The last days determine the projection.
func budgetsOf(state *telemetry.State, days, month []ingest.UsageDay, now time.Time) []budget {
	budgets := []budget{}
	for _, signal := range ingest.Signals() {
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
		row.UsedUpAt = route.TimeOf(telemetry.Projection(row.Used, *limit, float64(recent)/span, now))
		if since, over := state.Over[signal]; over && state.Month == domain.MonthOf(now) {
			row.OverSince = route.TimeOf(&since)
		}
		budgets = append(budgets, row)
	}
	return budgets
}

func ingestOf(days []ingest.UsageDay, lag time.Duration) ingestJSON {
	out := ingestJSON{LagMs: lag.Milliseconds(), Signals: map[ingest.Signal]signalIngest{}}
	var latest time.Time
	for _, signal := range ingest.Signals() {
		var last time.Time
		for i := range days {
			if at := days[i].Signals[signal].LastAt; at.After(last) {
				last = at
			}
		}
		row := signalIngest{LagMs: out.LagMs}
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
