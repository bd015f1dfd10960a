package revenue

import (
	"cmp"
	"math/big"
	"slices"
	"time"
)

// BillingInterval is the unit of the time between two bills.
type BillingInterval string

// The units.
const (
	PerDay   BillingInterval = "day"
	PerWeek  BillingInterval = "week"
	PerMonth BillingInterval = "month"
	PerYear  BillingInterval = "year"
)

// BillingIntervals lists the units.
func BillingIntervals() []BillingInterval {
	return []BillingInterval{PerDay, PerWeek, PerMonth, PerYear}
}

// perYear is the number of units in a year: 365 days or 52 weeks.
func (i BillingInterval) perYear() int64 {
	switch i {
	case PerDay:
		return 365
	case PerWeek:
		return 52
	case PerYear:
		return 1
	case PerMonth:
	}
	return 12
}

// Price is one recurring price of a subscription.
type Price struct {
	// Cents is the price of one unit, in the smallest unit of the currency; it may be a fraction.
	Cents    *big.Rat
	Quantity int64
	Interval BillingInterval
	// Count is the number of intervals that one bill covers.
	Count int64
	// Discounts apply to this price only.
	Discounts []Discount
}

// monthly returns the price per month as of an instant.
func (p *Price) monthly(ms int64) *big.Rat {
	value := new(big.Rat).Mul(p.Cents, new(big.Rat).SetInt64(p.Quantity))
	return lower(value.Mul(value, p.ratio()), p.Discounts, ms, p.ratio())
}

// lower applies discounts to a monthly amount as of an instant, one after the other. ratio is the share of a bill that
// falls on a month. The amount never falls below zero.
func lower(amount *big.Rat, discounts []Discount, ms int64, ratio *big.Rat) *big.Rat {
	for _, discount := range discounts {
		if discount.EndMs != 0 && ms >= discount.EndMs {
			continue
		}
		if discount.Percent != nil {
			left := new(big.Rat).Sub(big.NewRat(100, 1), discount.Percent)
			amount.Mul(amount, left.Quo(left, big.NewRat(100, 1)))
		}
		if discount.Cents != nil {
			amount.Sub(amount, new(big.Rat).Mul(discount.Cents, ratio))
		}
	}
	if amount.Sign() < 0 {
		return new(big.Rat)
	}
	return amount
}

// ratio is the share of a bill that falls on a month.
func (p *Price) ratio() *big.Rat { return big.NewRat(p.Interval.perYear(), 12*p.Count) }

// Discount lowers every bill of a subscription until an instant.
type Discount struct {
	// Percent or Cents is subtracted.
	Percent *big.Rat
	Cents   *big.Rat
	// EndMs is 0 if the discount lasts as long as the subscription.
	EndMs int64
}

// MonthlyCents returns the MRR of prices as of an instant, and its changes when discounts end. Discounts are applied
// one after the other. The result is rounded once, halves away from zero, and is never below zero.
func MonthlyCents(prices []Price, discounts []Discount, at time.Time) (cents int64, changes []BillingChange) {
	value := func(ms int64) int64 {
		full := new(big.Rat)
		if len(prices) == 0 {
			return 0
		}
		for n := range prices {
			full.Add(full, prices[n].monthly(ms))
		}
		return RoundCents(lower(full, discounts, ms, prices[0].ratio()))
	}
	all := slices.Clone(discounts)
	for n := range prices {
		all = append(all, prices[n].Discounts...)
	}
	cents = value(at.UnixMilli())
	for _, discount := range all {
		if discount.EndMs > at.UnixMilli() {
			changes = append(changes, BillingChange{AtMs: discount.EndMs, Cents: value(discount.EndMs)})
		}
	}
	slices.SortFunc(changes, func(a, b BillingChange) int { return cmp.Compare(a.AtMs, b.AtMs) })
	return cents, slices.Compact(changes)
}

// RoundCents rounds to a whole number of cents, halves away from zero.
func RoundCents(value *big.Rat) int64 {
	doubled := new(big.Int).Mul(value.Num(), big.NewInt(2))
	if value.Sign() < 0 {
		doubled.Sub(doubled, value.Denom())
	} else {
		doubled.Add(doubled, value.Denom())
	}
	return doubled.Quo(doubled, new(big.Int).Mul(value.Denom(), big.NewInt(2))).Int64()
}
