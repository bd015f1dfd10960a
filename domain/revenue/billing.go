package revenue

import "time"

// BillingKind is the kind of a billing item.
type BillingKind string

// The kinds of billing items.
const (
	// BillingSubscription is the state of a subscription from an instant on.
	BillingSubscription BillingKind = "subscription"
	BillingPayment      BillingKind = "payment"
	BillingRefund       BillingKind = "refund"
	// BillingRate is the value of one unit of a currency in another one from a day on.
	BillingRate BillingKind = "rate"
)

// BillingKinds lists the kinds.
func BillingKinds() []BillingKind {
	return []BillingKind{BillingSubscription, BillingPayment, BillingRefund, BillingRate}
}

// SubscriptionStatus is the state of a subscription in a billing system.
type SubscriptionStatus string

// The states. Active and past due subscriptions count for MRR.
const (
	SubscriptionTrialing SubscriptionStatus = "trialing"
	SubscriptionActive   SubscriptionStatus = "active"
	SubscriptionPastDue  SubscriptionStatus = "past_due"
	SubscriptionPaused   SubscriptionStatus = "paused"
	SubscriptionCanceled SubscriptionStatus = "canceled"
)

// SubscriptionStatuses lists the states.
func SubscriptionStatuses() []SubscriptionStatus {
	return []SubscriptionStatus{SubscriptionTrialing, SubscriptionActive, SubscriptionPastDue, SubscriptionPaused, SubscriptionCanceled}
}

// Pays reports whether a subscription in this state counts for MRR.
func (s SubscriptionStatus) Pays() bool {
	return s == SubscriptionActive || s == SubscriptionPastDue
}

// BillingRow is one billing item on its way to the store and back. Its strings are valid as long as the row.
type BillingRow struct {
	Environment uint64
	Kind        BillingKind
	// Subject is the id of the subscription, payment or refund; for a rate it is the currency.
	Subject string
	// ID identifies the item within its subject.
	ID             string
	Ts, ReceivedAt time.Time
	// Seq is the item's place in its request.
	Seq uint32
	// Customer is the distinct id of the paying person, empty if unknown.
	Customer string
	Plan     string
	Status   SubscriptionStatus
	Currency string
	// Cents is the MRR of a subscription while it pays, or the amount of a payment or refund, in the smallest unit of
	// the currency.
	Cents int64
	// Changes are known future values of Cents: the ends of discounts.
	Changes []BillingChange
	// TrialEndMs is when the trial becomes a paid subscription, EndMs when the subscription ends; 0 if unknown.
	TrialEndMs, EndMs int64
	// Target is the target currency of a rate; Rate is its price in trillionths.
	Target string
	Rate   int64
	// Item is the item's place among the billing items of its log record.
	Item int
}

// BillingChange is the MRR of a subscription from an instant on.
type BillingChange struct {
	AtMs  int64
	Cents int64
}

// RateUnit is the value of BillingRow.Rate that stands for one.
const RateUnit = 1_000_000_000_000

// Before orders items of the same subject by time, then by arrival.
func (r *BillingRow) Before(other *BillingRow) bool {
	if !r.Ts.Equal(other.Ts) {
		return r.Ts.Before(other.Ts)
	}
	return r.arrivedBefore(other)
}

func (r *BillingRow) arrivedBefore(other *BillingRow) bool {
	switch {
	case !r.ReceivedAt.Equal(other.ReceivedAt):
		return r.ReceivedAt.Before(other.ReceivedAt)
	case r.Seq != other.Seq:
		return r.Seq < other.Seq
	}
	return r.ID < other.ID
}

// Rank orders items of the same name: the item with the highest rank holds. For things that happened, the first report
// holds; for a rate, the last one.
func (r *BillingRow) Rank() uint64 {
	received := uint64(r.ReceivedAt.UnixMilli())
	if r.Kind == BillingRate {
		return received
	}
	return ^received
}

// at returns the state and the MRR of a subscription at an instant that the item governs.
func (r *BillingRow) at(ms int64) (status SubscriptionStatus, cents int64) {
	status, cents = r.Status, r.Cents
	if status == SubscriptionTrialing && r.TrialEndMs != 0 && ms >= r.TrialEndMs {
		status = SubscriptionActive
	}
	if r.EndMs != 0 && ms >= r.EndMs {
		status = SubscriptionCanceled
	}
	for _, change := range r.Changes {
		if ms >= change.AtMs {
			cents = change.Cents
		}
	}
	if !status.Pays() {
		cents = 0
	}
	return status, cents
}
