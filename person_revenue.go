package svc

import "time"

// AddRevenue sets the revenue of people as of an instant, and the stages that follow from it. It changes nothing if the
// ledger is empty.
func AddRevenue(l *Ledger, people []Person, now time.Time) {
	if !l.Any {
		return
	}
	revenues := map[string]*PersonRevenue{}
	for n := range people {
		people[n].Revenue = &PersonRevenue{Status: RevenueStatuses()[0], Currency: l.Currency}
		for _, id := range people[n].DistinctIDs {
			revenues[id] = people[n].Revenue
		}
	}
	l.OfPersons(revenues, now)
	for n := range people {
		people[n].Reached = revenueStage(people[n].Revenue, people[n].Reached)
	}
}

// revenueStage returns the lifecycle stage of a person that reached another stage by events alone.
func revenueStage(r *PersonRevenue, reached LifecycleStage) LifecycleStage {
	switch {
	case SubscriptionStatus(r.Status).pays():
		return StagePaying
	case r.Paid:
		return StageChurned
	}
	return reached
}
