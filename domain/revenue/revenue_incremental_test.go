package revenue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/person"
	"svc/domain/revenue"
)

// told is the stored part of a history, and the way to hand it to a book.
type told struct {
	rows   []revenue.BillingRow
	erased map[string]bool
}

// name returns the name by which items are equal.
func name(row *revenue.BillingRow) [2]string { return [2]string{string(row.Kind), row.Subject} }

// of returns all items of some subjects, in a random order. Erased customers have another name.
func (t *told) of(subjects map[[2]string]bool, random *rand.Rand) (rows []revenue.BillingRow) {
	for _, row := range t.rows {
		if subjects[name(&row)] {
			rows = append(rows, t.hidden(row))
		}
	}
	random.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
	return rows
}

// all returns all items.
func (t *told) all() (rows []revenue.BillingRow) {
	for _, row := range t.rows {
		rows = append(rows, t.hidden(row))
	}
	return rows
}

func (t *told) hidden(row revenue.BillingRow) revenue.BillingRow {
	if t.erased[row.Customer] {
		row.Customer = person.ErasedCustomer(7, row.Customer)
	}
	return row
}

// erase anonymises a customer, and returns the subjects that a book finds affected.
func (t *told) erase(book *revenue.LedgerBook, customer string) map[[2]string]bool {
	t.erased[customer] = true
	subjects := map[[2]string]bool{}
	for _, id := range book.Subscribed(func(named string) bool { return named == customer }) {
		subjects[[2]string{string(revenue.BillingSubscription), id}] = true
	}
	return subjects
}

// arrivals splits a history into changes of one to four items, in a random order. It includes repetitions, corrections
// of rates, later items that contradict a payment, and subscriptions that change customers.
func arrivals(random *rand.Rand) (changes [][]revenue.BillingRow) {
	rows := randomHistory(random)
	for n := range rows {
		rows[n].ReceivedAt = revenueDay(random.IntN(300)).Add(time.Duration(n) * time.Second)
		row := rows[n]
		row.ReceivedAt = row.ReceivedAt.AddDate(0, 0, random.IntN(40)-10).Add(time.Millisecond) // never at the same time
		switch {
		case row.Kind == revenue.BillingRate && random.IntN(9) == 0:
			row.Rate += revenue.RateUnit / 10
		case row.Kind == revenue.BillingSubscription && random.IntN(9) == 0:
			row.Customer, row.ID = fmt.Sprintf("customer-%d", random.IntN(15)), row.ID+"-moved"
		case row.Kind == revenue.BillingSubscription && random.IntN(9) == 0:
			row.Currency, row.ID = "EUR", row.ID+"-switched"
		case random.IntN(5) == 0:
			row.Cents += 100
		default:
			continue
		}
		rows = append(rows, row)
	}
	random.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
	for len(rows) > 0 {
		size := min(1+random.IntN(4), len(rows))
		changes, rows = append(changes, rows[:size]), rows[size:]
	}
	return changes
}

// TestEveryChangeIsAsAWholeRecomputation feeds a book random histories change by change, in any order, and erases
// customers in between. It compares each ledger with the ledger of all items at once.
func TestEveryChangeIsAsAWholeRecomputation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 11))
			currency := []string{"USD", ""}[seed%2]
			book, history := revenue.NewLedgerBook(currency), &told{erased: map[string]bool{}}
			for n, change := range arrivals(random) {
				subjects := map[[2]string]bool{}
				if random.IntN(20) == 0 {
					subjects = history.erase(book, fmt.Sprintf("customer-%d", random.IntN(15)))
				}
				history.rows = append(history.rows, change...)
				for i := range change {
					subjects[name(&change[i])] = true
				}
				book.Replace(history.of(subjects, random))
				sameLedger(t, n, book.Ledger(), revenue.NewLedger(history.all(), currency), random)
			}
		})
	}
}

// TestALedgerStaysAsItWas reads a ledger again after its book made others.
func TestALedgerStaysAsItWas(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	book, history := revenue.NewLedgerBook(""), &told{}
	type seen struct {
		ledger   *revenue.Ledger
		overview string
	}
	var before []seen
	for n, change := range arrivals(random) {
		history.rows = append(history.rows, change...)
		subjects := map[[2]string]bool{}
		for i := range change {
			subjects[name(&change[i])] = true
		}
		book.Replace(history.of(subjects, random))
		if ledger := book.Ledger(); n%20 == 0 {
			before = append(before, seen{ledger: ledger, overview: shownYear(ledger)})
		}
	}
	for n, one := range before {
		if again := shownYear(one.ledger); again != one.overview {
			t.Fatalf("ledger %d was\n%s and is\n%s", n, one.overview, again)
		}
	}
}

func shownYear(l *revenue.Ledger) string {
	movements, _ := l.Movements(wholeYear(), revenueDay(365), "", nil, 10_000)
	return fmt.Sprintf("%+v %+v", l.Overview(wholeYear(), revenueDay(365)), movements)
}

// sameLedger compares two ledgers over the whole year, and over a random window in a random time zone with people.
func sameLedger(t *testing.T, n int, got, want *revenue.Ledger, random *rand.Rand) {
	t.Helper()
	if got, want := shownYear(got), shownYear(want); got != want {
		t.Fatalf("after change %d the ledger is\n%s, want\n%s", n, got, want)
	}
	from := random.IntN(250)
	window := domain.Window{From: revenueDay(from).Add(time.Duration(random.IntN(86400)) * time.Second), To: revenueDay(from + 1 + random.IntN(80)), Location: time.FixedZone("", (random.IntN(26)-13)*3600)}
	window.Interval = []domain.Interval{domain.Day, domain.Week, domain.Month}[random.IntN(3)]
	now := revenueDay(from + random.IntN(90))
	if got, want := fmt.Sprintf("%+v", got.Overview(window, now)), fmt.Sprintf("%+v", want.Overview(window, now)); got != want {
		t.Fatalf("after change %d %v as of %s is\n%s, want\n%s", n, window, now, got, want)
	}
	people, others := make([]person.Person, 15), make([]person.Person, 15)
	for i := range people {
		people[i].DistinctIDs = []string{fmt.Sprintf("customer-%d", i)}
		others[i].DistinctIDs = people[i].DistinctIDs
	}
	person.AddRevenue(got, people, now)
	person.AddRevenue(want, others, now)
	for i := range people {
		if got, want := shownRevenue(&people[i]), shownRevenue(&others[i]); got != want {
			t.Fatalf("after change %d customer %d has %s, want %s", n, i, got, want)
		}
	}
}

func shownRevenue(p *person.Person) string {
	if p.Revenue == nil {
		return "none"
	}
	return fmt.Sprintf("%+v %s", *p.Revenue, p.Reached)
}

// TestTheBookAgreesWithTheDefinitions compares the book's figures with independent plain code, after every change of a
// history. The history's subscriptions retain their currencies and customers.
func TestTheBookAgreesWithTheDefinitions(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 13))
		rows := randomHistory(random)
		slices.SortStableFunc(rows, func(a, b revenue.BillingRow) int { return ratesFirst(a) - ratesFirst(b) })
		rates := slices.IndexFunc(rows, func(row revenue.BillingRow) bool { return row.Kind != revenue.BillingRate })
		random.Shuffle(len(rows)-rates, func(a, b int) { rows[rates+a], rows[rates+b] = rows[rates+b], rows[rates+a] })
		book, history := revenue.NewLedgerBook("USD"), &told{}
		for at, size := 0, 0; at < len(rows); at += size {
			size = min(1+random.IntN(8), len(rows)-at)
			history.rows = rows[:at+size]
			subjects := map[[2]string]bool{}
			for n := range rows[at : at+size] {
				subjects[name(&rows[at+n])] = true
			}
			book.Replace(history.of(subjects, random))
			from := random.IntN(200)
			window := domain.Window{From: revenueDay(from), To: revenueDay(from + 60), Interval: domain.Week, Location: time.UTC}
			if got, want := book.Ledger().Overview(window, revenueDay(365)).Totals, recompute(history.rows, window.From, window.To); got != want {
				t.Fatalf("seed %d: after %d items the totals are\n%+v, want\n%+v", seed, at+size, got, want)
			}
		}
	}
}

// ratesFirst orders rates before all other items.
func ratesFirst(row revenue.BillingRow) int {
	if row.Kind == revenue.BillingRate {
		return 0
	}
	return 1
}
