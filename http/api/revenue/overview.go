package revenue

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/revenue"
	"svc/http/api"
	"svc/http/route"
)

// defaultRange is the range of a request without the parameter.
const defaultRange = "30d"

func ranges() []string {
	return []string{"7d", "30d", "90d", "12m", "custom:<YYYY-MM-DD>..<YYYY-MM-DD>"}
}

// window is the parameter range, in the application's time zone.
type window struct{ domain.Window }

// Parse reads the range.
func (w *window) Parse(call *route.Call, words []string) []domain.FieldError {
	key := api.First(words)
	if key == "" {
		key = defaultRange
	}
	parsed, problem := domain.ParseWindow(key, call.Now, call.App.Location())
	if problem == nil && slices.Contains([]string{"24h", "14d", "today", "yesterday"}, key) {
		unknown := api.UnknownWord("range", "range", key, ranges())
		problem = &unknown
	}
	if problem != nil {
		problem.Allowed = ranges()
		return []domain.FieldError{*problem}
	}
	w.Window = parsed
	return nil
}

// Schema describes the parameter.
func (window) Schema() route.Schema {
	return route.Schema{"type": "string", "default": defaultRange, "examples": []string{"12m", "custom:2026-01-01..2026-01-31"}}
}

// revenueRange is a range in an answer.
type revenueRange struct {
	From route.Time `json:"from"`
	To   route.Time `json:"to"`
	Key  string     `json:"key"`
}

func rangeOf(w domain.Window) revenueRange {
	return revenueRange{From: route.Time(w.From), To: route.Time(w.To), Key: w.Key}
}

type getOverview struct {
	api.AppPath
	Env   api.Env `query:"env" doc:"The environment's slug."`
	Range window  `query:"range" doc:"7d, 30d, 90d, 12m or custom:<YYYY-MM-DD>..<YYYY-MM-DD>; 30d where it is absent."`
}

// revenueTotals are the figures of a window, in cents of the reporting currency.
type revenueTotals struct {
	MRR                  int64 `json:"mrrCents" doc:"At the end of the range."`
	ARR                  int64 `json:"arrCents" doc:"Twelve times the MRR."`
	ActiveSubscriptions  int64 `json:"activeSubscriptions" doc:"Those that count for MRR at the end of the range."`
	Trialing             int64 `json:"trialing" doc:"Trials at the end of the range."`
	New                  int64 `json:"newCents" doc:"MRR of customers who began to pay, or came back."`
	Expansion            int64 `json:"expansionCents"`
	Contraction          int64 `json:"contractionCents" doc:"Not below 0, as is churnCents."`
	Churn                int64 `json:"churnCents" doc:"MRR of customers who ended their last subscription."`
	ChurnedSubscriptions int64 `json:"churnedSubscriptions" doc:"Subscriptions that ended to pay in the range."`
	NewSubscriptions     int64 `json:"newSubscriptions" doc:"Subscriptions that began to pay in the range."`
	Payments             int64 `json:"paymentsCents"`
	Refunds              int64 `json:"refundsCents"`
	NetNewMRR            int64 `json:"netNewMrrCents" doc:"newCents and expansionCents less contractionCents and churnCents; by so much the MRR changed."`
	ARPA                 int64 `json:"arpaCents" doc:"MRR by paying customer, rounded."`
}

func totalsOf(t *revenue.Totals) revenueTotals {
	return revenueTotals{
		MRR: t.MRR, ARR: t.ARR(), ActiveSubscriptions: t.Active, Trialing: t.Trialing, New: t.New, Expansion: t.Expansion, Contraction: t.Contraction,
		Churn: t.Churn, ChurnedSubscriptions: t.Ended, NewSubscriptions: t.Began, Payments: t.Payments, Refunds: t.Refunds, NetNewMRR: t.NetNew(), ARPA: t.ARPA(),
	}
}

// revenueDeltas are the changes since the window before in percent; null if that was zero.
type revenueDeltas struct {
	MRR                  *float64 `json:"mrr"`
	ARR                  *float64 `json:"arr"`
	ActiveSubscriptions  *float64 `json:"activeSubscriptions"`
	Trialing             *float64 `json:"trialing"`
	New                  *float64 `json:"new"`
	Expansion            *float64 `json:"expansion"`
	Contraction          *float64 `json:"contraction"`
	Churn                *float64 `json:"churn"`
	ChurnedSubscriptions *float64 `json:"churnedSubscriptions"`
	NewSubscriptions     *float64 `json:"newSubscriptions"`
	Payments             *float64 `json:"payments"`
	Refunds              *float64 `json:"refunds"`
	NetNewMRR            *float64 `json:"netNewMrr"`
	ARPA                 *float64 `json:"arpa"`
}

func deltasOf(now, before revenueTotals) revenueDeltas {
	delta := func(now, before int64) *float64 { return domain.Delta(float64(now), float64(before)) }
	return revenueDeltas{
		MRR: delta(now.MRR, before.MRR), ARR: delta(now.ARR, before.ARR), ActiveSubscriptions: delta(now.ActiveSubscriptions, before.ActiveSubscriptions),
		Trialing: delta(now.Trialing, before.Trialing), New: delta(now.New, before.New), Expansion: delta(now.Expansion, before.Expansion),
		Contraction: delta(now.Contraction, before.Contraction), Churn: delta(now.Churn, before.Churn),
		ChurnedSubscriptions: delta(now.ChurnedSubscriptions, before.ChurnedSubscriptions), NewSubscriptions: delta(now.NewSubscriptions, before.NewSubscriptions),
		Payments: delta(now.Payments, before.Payments), Refunds: delta(now.Refunds, before.Refunds), NetNewMRR: delta(now.NetNewMRR, before.NetNewMRR),
		ARPA: delta(now.ARPA, before.ARPA),
	}
}

// revenuePoint is the MRR at the end of a bucket.
type revenuePoint struct {
	T     route.Time `json:"t" doc:"The beginning of the bucket."`
	Value int64      `json:"value" doc:"Cents."`
}

// revenueSeries holds the series of an overview.
type revenueSeries struct {
	MRR       []revenuePoint `json:"mrr" doc:"At the end of each day, or of each week or month of a long range."`
	Movements []revenueMoves `json:"movements" doc:"By what the MRR changed within each of them; they sum up to the totals."`
}

// revenueMoves are the movements of a bucket.
type revenueMoves struct {
	T           route.Time `json:"t" doc:"The beginning of the bucket."`
	New         int64      `json:"newCents"`
	Expansion   int64      `json:"expansionCents"`
	Contraction int64      `json:"contractionCents"`
	Churn       int64      `json:"churnCents"`
}

func seriesOf(found *revenue.Overview) revenueSeries {
	out := revenueSeries{Movements: make([]revenueMoves, len(found.Series))}
	out.MRR = api.Convert(found.Series, func(p *revenue.Point) revenuePoint { return revenuePoint{T: route.Time(p.T), Value: p.MRR} })
	for n := range out.Movements {
		moved := &found.Moved[n]
		out.Movements[n] = revenueMoves{out.MRR[n].T, moved.New, moved.Expansion, moved.Contraction, moved.Churn}
	}
	return out
}

// revenuePlan is one plan.
type revenuePlan struct {
	Label     string `json:"label" doc:"The plan; empty where nobody named it."`
	Value     int64  `json:"value" doc:"Its MRR in cents of the reporting currency."`
	Secondary int64  `json:"secondary" doc:"Its active subscriptions."`
}

// revenueCurrency shows the amounts billed in another currency, not converted.
type revenueCurrency struct {
	Currency      string `json:"currency"`
	MRRCents      int64  `json:"mrrCents"`
	PaymentsCents int64  `json:"paymentsCents"`
	Converted     bool   `json:"converted" doc:"false where there was no rate for some of it: that is missing in the headline."`
}

// revenueOverview is the answer of …/revenue/overview.
type revenueOverview struct {
	Currency        string            `json:"currency" doc:"The reporting currency."`
	Environment     string            `json:"environment"`
	Range           revenueRange      `json:"range"`
	Totals          revenueTotals     `json:"totals"`
	Previous        revenueTotals     `json:"previous" doc:"The equally long window before."`
	Deltas          revenueDeltas     `json:"deltas"`
	Series          revenueSeries     `json:"series"`
	TopPlans        []revenuePlan     `json:"topPlans" doc:"At most ten, those with the highest MRR."`
	OtherCurrencies []revenueCurrency `json:"otherCurrencies" doc:"Subscriptions billed in other currencies are converted for the headline and stand here as they are."`
	HasConnectors   bool              `json:"hasConnectors" doc:"false where no billing is connected, or none was read completely yet and nothing is known: the zeros are no revenue of zero."`
	Coverage        revenueCoverage   `json:"coverage" doc:"What of billing is known."`
}

func (r handlers) overview(ctx context.Context, call *route.Call, in getOverview) (revenueOverview, error) {
	ledger, err := r.ports.Ledgers.RevenueLedger(ctx, in.Env.Number, "")
	if err != nil {
		return revenueOverview{}, err
	}
	found := ledger.Overview(in.Range.Window, call.Now)
	coverage, connected := r.coverageOf(call, in.Env.Number, found.Any)
	now, before := totalsOf(&found.Totals), totalsOf(&found.Before)
	return revenueOverview{
		Currency: found.Currency, Environment: in.Env.Slug, Range: rangeOf(in.Range.Window), Totals: now, Previous: before, Deltas: deltasOf(now, before),
		Series: seriesOf(&found),
		TopPlans: api.Convert(found.Plans, func(p *revenue.Plan) revenuePlan {
			return revenuePlan{Label: p.Plan, Value: p.MRR, Secondary: p.Subscriptions}
		}),
		OtherCurrencies: api.Convert(found.OtherCurrencies, func(c *revenue.Currency) revenueCurrency {
			return revenueCurrency{Currency: c.Currency, MRRCents: c.MRR, PaymentsCents: c.Payments, Converted: c.Converted}
		}),
		HasConnectors: connected, Coverage: coverage,
	}, nil
}
