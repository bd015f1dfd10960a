package svc

import "time"

// BillingKind says what a billing item tells.
type BillingKind string

// The kinds of billing items.
const (
	// BillingSubscription is the state of a subscription from an instant on.
	BillingSubscription BillingKind = "subscription"
	BillingPayment      BillingKind = "payment"
	BillingRefund       BillingKind = "refund"
	// BillingRate is the value of a unit of a currency in another one from a day on.
	BillingRate BillingKind = "rate"
)

// BillingKinds lists the kinds.
func BillingKinds() []BillingKind {
	return []BillingKind{BillingSubscription, BillingPayment, BillingRefund, BillingRate}
}

// SubscriptionStatus is the state in which a billing system has a subscription.
type SubscriptionStatus string

// The states. Active and past due ones count for MRR.
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

// pays reports whether a subscription in this state counts for MRR.
func (s SubscriptionStatus) pays() bool {
	return s == SubscriptionActive || s == SubscriptionPastDue
}

// BillingRow is one billing item on its way to the store and back. Its strings stay valid as long as the row.
type BillingRow struct {
	Environment uint64
	Kind        BillingKind
	// Subject is the id of the subscription, payment or refund; the currency of a rate.
	Subject string
	// ID names the item among those of its subject.
	ID             string
	Ts, ReceivedAt time.Time
	// Seq is the item's place in its request.
	Seq uint32
	// Customer is the distinct id of the person who pays; empty where nobody said so.
	Customer string
	Plan     string
	Status   SubscriptionStatus
	Currency string
	// Cents is the MRR of a subscription while it pays, or what was paid or refunded, in the smallest unit of the currency.
	Cents int64
	// Changes are later values of Cents that are known already: the ends of discounts.
	Changes []BillingChange
	// TrialEndMs is when the trial becomes a paid subscription, EndMs when the subscription ends; 0 where nobody said so.
	TrialEndMs, EndMs int64
	// Target is the currency into which a rate converts; Rate is its price in trillionths.
	Target string
	Rate   int64
	// Item is the item's place among the billing items of its record of the log.
	Item int
}

// BillingChange is the MRR of a subscription from an instant on.
type BillingChange struct {
	AtMs  int64
	Cents int64
}

// RateUnit is how many units of BillingRow.Rate are one.
const RateUnit = 1_000_000_000_000

// Before reports whether an item holds before another one of the same subject: by time, then by arrival.
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

// Rank orders items of the same name: the one with the highest rank holds. What happened is as it was said first; a
// rate is as it was said last.
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
	if !status.pays() {
		cents = 0
	}
	return status, cents
}
