package person

import (
	"time"

	"svc/domain/revenue"
	"svc/domain/segment"
)

// AddRevenue sets the revenue of people as of an instant, and the stages that follow from it. It changes nothing if the
// ledger is empty.
func AddRevenue(l *revenue.Ledger, people []Person, now time.Time) {
	if !l.Any {
		return
	}
	revenues := map[string]*revenue.PersonRevenue{}
	for n := range people {
		people[n].Revenue = &revenue.PersonRevenue{Status: segment.RevenueStatuses()[0], Currency: l.Currency}
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
func revenueStage(r *revenue.PersonRevenue, reached segment.LifecycleStage) segment.LifecycleStage {
	switch {
	case revenue.SubscriptionStatus(r.Status).Pays():
		return segment.StagePaying
	case r.Paid:
		return segment.StageChurned
	}
	return reached
}
