package svc

import "time"

// PersonRevenue sums up the subscriptions of one person.
type PersonRevenue struct {
	// Status is one of RevenueStatuses.
	Status string
	// MRRCents is in the reporting currency Currency.
	MRRCents int64
	Currency string
	// Paid is set where any of the subscriptions was ever active.
	Paid bool
}

// revenueRank orders states of subscriptions: a person has the highest one of them.
func revenueRank(status SubscriptionStatus) int {
	switch status {
	case SubscriptionActive:
		return 4
	case SubscriptionPastDue:
		return 3
	case SubscriptionTrialing:
		return 2
	case SubscriptionPaused, SubscriptionCanceled:
		return 1
	}
	return 0
}

// Persons sets the revenue of people as of an instant, and the stages that follow from it. Where nothing was ever billed, nobody has any.
func (l *Ledger) Persons(people []Person, now time.Time) {
	if !l.Any {
		return
	}
	of := map[string]*PersonRevenue{}
	for n := range people {
		people[n].Revenue = &PersonRevenue{Status: RevenueStatuses()[0], Currency: l.Currency}
		for _, id := range people[n].DistinctIDs {
			of[id] = people[n].Revenue
		}
	}
	ranks := map[*PersonRevenue]int{}
	for _, subscription := range l.subscriptions {
		if revenue := of[subscription.person]; revenue != nil && subscription.person != "" {
			ranks[revenue] = revenue.take(subscription, now.UnixMilli(), ranks[revenue])
		}
	}
	for n := range people {
		people[n].Reached = people[n].Revenue.stage(people[n].Reached)
	}
}

// take adds a subscription as of an instant, and returns the rank of the highest state so far.
func (r *PersonRevenue) take(subscription *ledgerSubscription, nowMs int64, rank int) int {
	last := subscription.until(nowMs + 1)
	if last == nil {
		return rank
	}
	for n := range subscription.steps {
		step := &subscription.steps[n]
		r.Paid = r.Paid || step.atMs <= nowMs && step.status.pays()
	}
	r.MRRCents += last.carried
	if reached := revenueRank(last.status); reached > rank {
		rank = reached
		r.Status = string(last.status)
		if last.status == SubscriptionPaused {
			r.Status = string(SubscriptionCanceled)
		}
	}
	return rank
}

// stage returns the stage of a person who reached another one before billing is looked at.
func (r *PersonRevenue) stage(reached LifecycleStage) LifecycleStage {
	switch {
	case SubscriptionStatus(r.Status).pays():
		return StagePaying
	case r.Paid:
		return StageChurned
	}
	return reached
}
