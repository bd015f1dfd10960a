package revenue_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/revenue"
)

// day returns an instant of 2026, in days since its beginning.
func revenueDay(days int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days)
}

// wholeYear is a window that covers every instant of the tests.
func wholeYear() domain.Window {
	return domain.Window{From: revenueDay(0), To: revenueDay(365), Interval: domain.Month, Location: time.UTC}
}

// state is a row of a subscription.
func state(subscription, customer string, day int, status revenue.SubscriptionStatus, cents int64) revenue.BillingRow {
	at := revenueDay(day)
	return revenue.BillingRow{
		Kind: revenue.BillingSubscription, Subject: subscription, ID: fmt.Sprintf("%s-%d-%s-%d", subscription, day, status, cents), Ts: at, ReceivedAt: at,
		Customer: customer, Plan: "pro", Status: status, Currency: "USD", Cents: cents,
	}
}

// kinds lists the movements of a ledger, the oldest first.
func movementsOf(l *revenue.Ledger) (lines []string) {
	rows, _ := l.Movements(wholeYear(), revenueDay(365), "", nil, 1000)
	for _, m := range slices.Backward(rows) {
		lines = append(lines, fmt.Sprintf("%d %s %s %d", m.At.YearDay()-1, m.Subscription, m.Kind, m.Converted))
	}
	return lines
}

func TestMovementsOfSubscriptions(t *testing.T) {
	t.Parallel()
	until := func(row revenue.BillingRow, change func(*revenue.BillingRow)) revenue.BillingRow {
		change(&row)
		return row
	}
	rate := func(currency string, day int, rate int64) revenue.BillingRow {
		return revenue.BillingRow{Kind: revenue.BillingRate, Subject: currency, Target: "USD", ID: fmt.Sprint(currency, day), Ts: revenueDay(day), ReceivedAt: revenueDay(day), Rate: rate * revenue.RateUnit / 100}
	}
	euro := func(row revenue.BillingRow) revenue.BillingRow { row.Currency = "EUR"; return row }
	for _, test := range []struct {
		name string
		rows []revenue.BillingRow
		want []string
	}{
		{"grows, shrinks, ends, comes back", []revenue.BillingRow{
			state("s", "c", 1, revenue.SubscriptionActive, 1000), state("s", "c", 2, revenue.SubscriptionActive, 1500), state("s", "c", 3, revenue.SubscriptionPastDue, 500),
			state("s", "c", 4, revenue.SubscriptionCanceled, 0), state("s", "c", 9, revenue.SubscriptionActive, 700),
		}, []string{"1 s new 1000", "2 s expansion 500", "3 s contraction -1000", "4 s churn -500", "9 s new 700"}},
		{"a trial pays nothing", []revenue.BillingRow{state("s", "c", 1, revenue.SubscriptionTrialing, 1000), state("s", "c", 15, revenue.SubscriptionActive, 1000)}, []string{"15 s new 1000"}},
		{"a trial that ends by itself", []revenue.BillingRow{until(state("s", "c", 1, revenue.SubscriptionTrialing, 1000), func(r *revenue.BillingRow) { r.TrialEndMs = revenueDay(8).UnixMilli() })}, []string{"8 s new 1000"}},
		{"a trial that is canceled before its end", []revenue.BillingRow{
			until(state("s", "c", 1, revenue.SubscriptionTrialing, 1000), func(r *revenue.BillingRow) { r.TrialEndMs = revenueDay(8).UnixMilli() }), state("s", "c", 5, revenue.SubscriptionCanceled, 0),
		}, nil},
		{"a coupon that ends", []revenue.BillingRow{until(state("s", "c", 1, revenue.SubscriptionActive, 500), func(r *revenue.BillingRow) {
			r.Changes = []revenue.BillingChange{{AtMs: revenueDay(31).UnixMilli(), Cents: 1000}}
		})}, []string{"1 s new 500", "31 s expansion 500"}},
		{"a planned end", []revenue.BillingRow{until(state("s", "c", 1, revenue.SubscriptionActive, 500), func(r *revenue.BillingRow) { r.EndMs = revenueDay(20).UnixMilli() })}, []string{"1 s new 500", "20 s churn -500"}},
		{"a pause", []revenue.BillingRow{
			state("s", "c", 1, revenue.SubscriptionActive, 500), state("s", "c", 5, revenue.SubscriptionPaused, 500), state("s", "c", 9, revenue.SubscriptionActive, 500),
		}, []string{"1 s new 500", "5 s churn -500", "9 s new 500"}},
		{"a second subscription of a customer", []revenue.BillingRow{
			state("a", "c", 1, revenue.SubscriptionActive, 500), state("b", "c", 3, revenue.SubscriptionActive, 200), state("a", "c", 5, revenue.SubscriptionCanceled, 0), state("b", "c", 7, revenue.SubscriptionCanceled, 0),
		}, []string{"1 a new 500", "3 b expansion 200", "5 a contraction -500", "7 b churn -200"}},
		{"a change from one subscription to another", []revenue.BillingRow{
			state("a", "c", 1, revenue.SubscriptionActive, 500), state("a", "c", 5, revenue.SubscriptionCanceled, 0), state("b", "c", 5, revenue.SubscriptionActive, 900),
		}, []string{"1 a new 500", "5 a contraction -500", "5 b expansion 900"}},
		{"a repeated item and a late one", []revenue.BillingRow{
			state("s", "c", 1, revenue.SubscriptionActive, 500), state("s", "c", 9, revenue.SubscriptionCanceled, 0), state("s", "c", 1, revenue.SubscriptionActive, 500), state("s", "c", 4, revenue.SubscriptionActive, 800),
		}, []string{"1 s new 500", "4 s expansion 300", "9 s churn -800"}},
		{"rates never leave MRR behind", []revenue.BillingRow{
			rate("EUR", 0, 110), rate("EUR", 5, 150), euro(state("s", "c", 1, revenue.SubscriptionActive, 1000)), euro(state("s", "c", 6, revenue.SubscriptionActive, 1200)), euro(state("s", "c", 8, revenue.SubscriptionCanceled, 0)),
		}, []string{"1 s new 1100", "6 s expansion 300", "8 s churn -1400"}},
		{"without a rate nothing is converted", []revenue.BillingRow{rate("EUR", 5, 150), euro(state("s", "c", 1, revenue.SubscriptionActive, 1000))}, []string{"1 s new 0"}},
		{"another currency", []revenue.BillingRow{rate("EUR", 0, 200), state("s", "c", 1, revenue.SubscriptionActive, 1000), euro(state("s", "c", 6, revenue.SubscriptionActive, 400))}, []string{
			"1 s new 1000", "6 s contraction -1000", "6 s expansion 800",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := movementsOf(revenue.NewLedger(test.rows, "USD")); !slices.Equal(got, test.want) {
				t.Errorf("the movements are %q, want %q", got, test.want)
			}
		})
	}
}

func TestMonthlyCents(t *testing.T) {
	t.Parallel()
	price := func(cents, quantity int64, interval revenue.BillingInterval, count int64) revenue.Price {
		return revenue.Price{Cents: big.NewRat(cents, 1), Quantity: quantity, Interval: interval, Count: count}
	}
	percent := func(off int64) revenue.Discount { return revenue.Discount{Percent: big.NewRat(off, 1)} }
	for _, test := range []struct {
		name      string
		prices    []revenue.Price
		discounts []revenue.Discount
		want      int64
	}{
		{"a month", []revenue.Price{price(2900, 1, revenue.PerMonth, 1)}, nil, 2900},
		{"four times 500 a year, as ChartMogul shows it", []revenue.Price{price(50000, 4, revenue.PerYear, 1)}, nil, 16667},
		{"a quarter", []revenue.Price{price(10000, 1, revenue.PerMonth, 3)}, nil, 3333},
		{"a week", []revenue.Price{price(700, 1, revenue.PerWeek, 1)}, nil, 3033},
		{"a day", []revenue.Price{price(100, 1, revenue.PerDay, 1)}, nil, 3042},
		{"two prices, rounded once", []revenue.Price{price(100, 1, revenue.PerYear, 1), price(110, 1, revenue.PerYear, 1)}, nil, 18},
		{"a fifth off", []revenue.Price{price(2900, 2, revenue.PerMonth, 1)}, []revenue.Discount{percent(20)}, 4640},
		{"5 a year off", []revenue.Price{price(12000, 1, revenue.PerYear, 1)}, []revenue.Discount{{Cents: big.NewRat(600, 1)}}, 950},
		{"more off than there is", []revenue.Price{price(100, 1, revenue.PerMonth, 1)}, []revenue.Discount{{Cents: big.NewRat(600, 1)}}, 0},
		{"for nothing", []revenue.Price{price(100, 1, revenue.PerMonth, 1)}, []revenue.Discount{percent(100)}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, _ := revenue.MonthlyCents(test.prices, test.discounts, revenueDay(0)); got != test.want {
				t.Errorf("the MRR is %d, want %d", got, test.want)
			}
		})
	}
}

func TestConvertCurrencies(t *testing.T) {
	t.Parallel()
	rates := revenue.NewRatesTo("USD", []revenue.BillingRow{
		{Kind: revenue.BillingRate, Subject: "JPY", Target: "USD", Ts: revenueDay(3), Rate: 7_000_000_000},
		{Kind: revenue.BillingRate, Subject: "EUR", Target: "USD", Ts: revenueDay(3), ReceivedAt: revenueDay(4), Rate: revenue.RateUnit},
		{Kind: revenue.BillingRate, Subject: "EUR", Target: "USD", Ts: revenueDay(3), ReceivedAt: revenueDay(5), Rate: 2 * revenue.RateUnit},
		{Kind: revenue.BillingRate, Subject: "EUR", Target: "CHF", Ts: revenueDay(3), Rate: 9 * revenue.RateUnit},
	})
	for _, test := range []struct {
		currency string
		day      int
		want     int64
		known    bool
	}{{"USD", 0, 1000, true}, {"EUR", 2, 0, false}, {"EUR", 3, 2000, true}, {"EUR", 90, 2000, true}, {"JPY", 4, 700, true}, {"GBP", 4, 0, false}} {
		if got, known := rates.Convert(1000, test.currency, revenueDay(test.day).UnixMilli()); got != test.want || known != test.known {
			t.Errorf("1000 %s of day %d are %d, %t; want %d, %t", test.currency, test.day, got, known, test.want, test.known)
		}
	}
}

// TestAnIndependentRecomputationAgrees makes random histories and feeds them in a random order and partly twice. It
// compares every figure with plain code that follows the definitions instant by instant.
func TestAnIndependentRecomputationAgrees(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 7))
		rows := randomHistory(random)
		told := append(slices.Clone(rows), rows[:len(rows)/3]...)
		for n := range told[len(rows):] {
			told[len(rows)+n].ReceivedAt = revenueDay(400) // again, later
		}
		random.Shuffle(len(told), func(a, b int) { told[a], told[b] = told[b], told[a] })
		ledger := revenue.NewLedger(told, "USD")
		from, to := random.IntN(100), 150+random.IntN(100)
		window := domain.Window{From: revenueDay(from), To: revenueDay(to), Interval: domain.Day, Location: time.UTC}
		want, got := recompute(rows, window.From, window.To), ledger.Overview(window, revenueDay(365))
		if got.Totals != want {
			t.Fatalf("seed %d: the totals are\n%+v, want\n%+v", seed, got.Totals, want)
		}
		if before := recompute(rows, window.Previous().From, window.From); got.Before != before {
			t.Fatalf("seed %d: the window before has\n%+v, want\n%+v", seed, got.Before, before)
		}
		for n, point := range got.Series {
			if n%9 != 0 {
				continue
			}
			if end := recompute(rows, point.T, point.T.AddDate(0, 0, 1)); point.MRR != end.MRR {
				t.Fatalf("seed %d: the MRR of %s is %d, want %d", seed, point.T, point.MRR, end.MRR)
			}
		}
		sums := map[revenue.MovementKind]int64{}
		var after *revenue.Movement
		for more := true; more; {
			var page []revenue.Movement
			page, more = ledger.Movements(window, revenueDay(365), "", after, 7)
			for n := range page {
				sums[page[n].Kind] += page[n].Converted
				after = &page[n]
			}
		}
		if sums[revenue.MovementNew] != want.New || sums[revenue.MovementExpansion] != want.Expansion || -sums[revenue.MovementContraction] != want.Contraction || -sums[revenue.MovementChurn] != want.Churn {
			t.Fatalf("seed %d: the movements sum up to %v, want %+v", seed, sums, want)
		}
		start := recompute(rows, window.From, window.From)
		if want.MRR-start.MRR != want.NetNew() {
			t.Fatalf("seed %d: the MRR changed by %d, the movements by %d", seed, want.MRR-start.MRR, want.NetNew())
		}
	}
}

// randomHistory makes some 40 subscriptions of 15 customers in two currencies, payments and rates.
func randomHistory(random *rand.Rand) (rows []revenue.BillingRow) {
	for day := range 300 {
		if day%2 == 0 {
			rows = append(rows, revenue.BillingRow{
				Kind: revenue.BillingRate, Subject: "EUR", Target: "USD", ID: fmt.Sprint("USD", day), Ts: revenueDay(day), ReceivedAt: revenueDay(day), Rate: revenue.RateUnit*9/10 + random.Int64N(revenue.RateUnit/3),
			})
		}
	}
	for n := range 40 {
		currency := []string{"USD", "EUR"}[n%2]
		for range 1 + random.IntN(6) {
			row := state(fmt.Sprintf("sub-%d", n), fmt.Sprintf("customer-%d", n%15), random.IntN(280), revenue.SubscriptionStatuses()[random.IntN(5)], 1+random.Int64N(30000))
			row.Currency = currency
			row.Ts = row.Ts.Add(time.Duration(random.IntN(3)) * 12 * time.Hour)
			row.ID = fmt.Sprint(len(rows))
			if random.IntN(3) == 0 {
				row.Changes = []revenue.BillingChange{{AtMs: row.Ts.AddDate(0, 0, 1+random.IntN(20)).UnixMilli(), Cents: 1 + random.Int64N(30000)}}
			}
			if random.IntN(4) == 0 {
				row.TrialEndMs = row.Ts.AddDate(0, 0, 14).UnixMilli()
			}
			if random.IntN(5) == 0 {
				row.EndMs = row.Ts.AddDate(0, 0, 1+random.IntN(60)).UnixMilli()
			}
			rows = append(rows, row)
		}
		for p := range random.IntN(5) {
			kind := []revenue.BillingKind{revenue.BillingPayment, revenue.BillingPayment, revenue.BillingRefund}[p%3]
			rows = append(rows, revenue.BillingRow{Kind: kind, Subject: fmt.Sprintf("pay-%d-%d", n, p), ID: "x", Ts: revenueDay(random.IntN(280)), ReceivedAt: revenueDay(281), Currency: currency, Cents: random.Int64N(90000)})
		}
	}
	return rows
}
