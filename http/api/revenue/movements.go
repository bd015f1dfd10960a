package revenue

import (
	"context"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/revenue"
	"svc/http/api"
	"svc/http/route"
)

type listMovements struct {
	api.AppPath
	api.Paging
	Env   api.Env `query:"env" doc:"The environment's slug."`
	Range window  `query:"range" doc:"7d, 30d, 90d, 12m or custom:<YYYY-MM-DD>..<YYYY-MM-DD>; 30d where it is absent."`
	Kind  kind    `query:"kind" doc:"new, expansion, contraction or churn; all where it is absent."`
}

// kind is the parameter kind; empty if the request names none.
type kind revenue.MovementKind

func kindChoice() api.Choice {
	return api.Choice{Field: "kind", What: "kind", Allowed: api.Words(revenue.MovementKinds())}
}

// Parse reads the kind.
func (k *kind) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := kindChoice().Parse(words)
	*k = kind(word)
	return problems
}

// Schema describes the parameter.
func (kind) Schema() route.Schema {
	return route.Schema{"type": "string", "enum": api.Words(revenue.MovementKinds())}
}

// revenueMovement is one row of …/revenue/movements.
type revenueMovement struct {
	Ts             route.Time           `json:"ts"`
	Kind           revenue.MovementKind `json:"kind" enum:"new,expansion,contraction,churn"`
	SubscriptionID string               `json:"subscriptionId"`
	CustomerID     *string              `json:"customerId" doc:"The distinct id of the person who pays. Masked without people.pii.read."`
	Plan           *string              `json:"plan"`
	Cents          *int64               `json:"cents" doc:"By so much the MRR changed, in the reporting currency and by the rate of the day; below 0 where it shrank. null where there is no rate."`
	Original       revenueAmount        `json:"original"`
}

// revenueAmount is a movement in the subscription's own currency.
type revenueAmount struct {
	Currency string `json:"currency"`
	Cents    int64  `json:"cents"`
}

// revenueMovementPage is the answer of …/revenue/movements.
type revenueMovementPage struct {
	domain.Page[revenueMovement]
	Currency    string          `json:"currency" doc:"The reporting currency."`
	Environment string          `json:"environment"`
	Range       revenueRange    `json:"range"`
	Coverage    revenueCoverage `json:"coverage" doc:"What of billing is known."`
}

func (r handlers) movements(ctx context.Context, call *route.Call, in listMovements) (revenueMovementPage, error) {
	after, err := placeOf(call, in.Cursor)
	if err != nil {
		return revenueMovementPage{}, err
	}
	ledger, err := r.ports.Ledgers.RevenueLedger(ctx, in.Env.Number, "")
	if err != nil {
		return revenueMovementPage{}, err
	}
	rows, more := ledger.Movements(in.Range.Window, call.Now, revenue.MovementKind(in.Kind), after, int(in.Limit))
	page := route.PageOf(call, rows, more, func(m revenue.Movement) []string {
		return []string{strconv.FormatInt(m.At.UnixMilli(), 10), m.Subscription, string(m.Kind)}
	})
	seesPersons := call.Grant.May(domain.PermPeoplePIIRead)
	coverage, _ := r.coverageOf(call, in.Env.Number, ledger.Any)
	shown := api.Convert(page.Data, func(m *revenue.Movement) revenueMovement { return movementOf(m, seesPersons) })
	return revenueMovementPage{Page: domain.Page[revenueMovement]{Data: shown, NextCursor: page.NextCursor}, Currency: ledger.Currency, Environment: in.Env.Slug, Range: rangeOf(in.Range.Window), Coverage: coverage}, nil
}

func movementOf(m *revenue.Movement, seesPersons bool) revenueMovement {
	out := revenueMovement{
		Ts: route.Time(m.At), Kind: m.Kind, SubscriptionID: m.Subscription, CustomerID: api.OrNull(m.Customer), Plan: api.OrNull(m.Plan),
		Original: revenueAmount{m.Currency, m.Cents},
	}
	if !seesPersons {
		out.CustomerID = api.OrNull(domain.MaskShapes(m.Customer))
	}
	if m.Known {
		out.Cents = &m.Converted
	}
	return out
}

// placeOf returns the movement of a cursor, nil without a cursor.
func placeOf(call *route.Call, cursor string) (*revenue.Movement, error) {
	keyset, err := call.Keyset(cursor, 3)
	if keyset == nil || err != nil {
		return nil, err
	}
	ms, err := strconv.ParseInt(keyset[0], 10, 64)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	return &revenue.Movement{At: time.UnixMilli(ms), Subscription: keyset[1], Kind: revenue.MovementKind(keyset[2])}, nil
}
