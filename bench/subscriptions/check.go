package subscriptions

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"svc/bench/harness"
)

//go:embed rows.sql
var rowsQuery string

// Fate is the outcome of an item, as far as its sender knows.
type Fate uint8

const (
	// Unsent means that no request with the item can have reached a server.
	Unsent Fate = iota
	// Unknown means that it was sent and never Acknowledged: it may be stored.
	Unknown
	// Acknowledged means that it must be stored.
	Acknowledged
)

// Kinds of violations.
const (
	lost     = "Acknowledged and lost"
	invented = "stored and never sent"
	changed  = "stored otherwise than sent"
	miscount = "counted wrongly"
)

// Violate is called for each violation.
type Violate func(kind, format string, args ...any)

// waitTime limits a wait for rows or for an answer.
const waitTime = time.Minute

// Settled returns the stored items once all Acknowledged ones are stored.
func (h *History) Settled(ctx context.Context, store string, fates []Fate) (rows []Row, err error) {
	waited := harness.Poll(ctx, "the Acknowledged billing items", waitTime, 200*time.Millisecond, func(ctx context.Context) (bool, string) {
		if rows, err = storedRows(ctx, store); err != nil {
			return false, err.Error()
		}
		missing, stored := 0, map[string]bool{}
		for _, row := range rows {
			stored[row.name()] = true
		}
		for n, fate := range fates {
			if _, row := h.Item(n); fate == Acknowledged && !stored[row.name()] {
				missing++
			}
		}
		return missing == 0, fmt.Sprintf("%d are missing", missing)
	})
	if err != nil {
		return nil, errors.Join(err, waited)
	}
	return rows, nil // CompareRows finds the missing ones
}

// name returns the key of the row in the store.
func (r *Row) name() string { return r.Kind + " " + r.Subject + " " + r.ID }

// storedRows reads the stored items.
func storedRows(ctx context.Context, store string) (rows []Row, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+store+"/?database=svc", strings.NewReader(rowsQuery))
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{}).Do(request) // the context limits it
	if err != nil {
		return nil, fmt.Errorf("reading billing items: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // the body is read
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, errors.Join(err, fmt.Errorf("reading billing items: status %d: %.500s", response.StatusCode, answer))
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	for {
		var row Row
		if err := decoder.Decode(&row); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return nil, fmt.Errorf("decoding billing items: %w", err)
		}
		rows = append(rows, row)
	}
}

// CompareRows compares the stored with the sent items.
func (h *History) CompareRows(fates []Fate, rows []Row, violate Violate) {
	stored, made := map[string]*Row{}, map[string]bool{}
	for n := range rows {
		if name := rows[n].name(); stored[name] != nil {
			violate(changed, "%s is stored in two ways", name)
		}
		stored[rows[n].name()] = &rows[n]
	}
	for n, fate := range fates {
		_, want := h.Item(n)
		got := stored[want.name()]
		made[want.name()] = true // a rate may be sent as several items
		switch {
		case got == nil && fate == Acknowledged:
			violate(lost, "the billing item %s", want.name())
		case got != nil && fate == Unsent:
			violate(invented, "the billing item %s", want.name())
		case got != nil && fmt.Sprint(*got) != fmt.Sprint(want):
			violate(changed, "the billing item %+v, sent was %+v", *got, want)
		}
	}
	for name := range stored {
		if !made[name] {
			violate(invented, "the billing item %s", name)
		}
	}
}

// answeredRevenue is the relevant part of an overview.
type answeredRevenue struct {
	Currency        string
	Range           struct{ From, To time.Time }
	Totals          map[string]int64
	OtherCurrencies []struct {
		Currency                string
		MRRCents, PaymentsCents int64
	}
}

// CompareRevenue compares a server's overview and movements of an environment, for some ranges, with the results of
// plain code over the rows. It returns the number of compared movements; which names the revenue in violations.
func (h *History) CompareRevenue(ctx context.Context, server *harness.Server, environment string, rows []Row, which string, violate Violate) (moved int, err error) {
	book := NewBook(rows)
	for _, days := range [][2]int{{0, Days - 1}, {60, 200}, {200, 230}} {
		key := "custom:" + h.base.AddDate(0, 0, days[0]).Format(time.DateOnly) + ".." + h.base.AddDate(0, 0, days[1]).Format(time.DateOnly)
		query := url.Values{"env": {environment}, "range": {key}}
		var answer answeredRevenue
		err := harness.Poll(ctx, "a revenue", waitTime, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
			err := server.Read(ctx, "/revenue/overview", query, &answer)
			return err == nil, fmt.Sprint(err)
		})
		if err != nil {
			return moved, err
		}
		totals, moves := book.Count(answer.Range.From.UnixMilli(), answer.Range.To.UnixMilli())
		answer.compareTotals(totals, which+" of "+key, violate)
		if answer.Currency != Reported {
			violate(miscount, "%s is in %s", which, answer.Currency)
		}
		if err := compareMoves(ctx, server, query, moves, which+" of "+key, violate); err != nil {
			return moved, err
		}
		moved += len(moves)
	}
	return moved, nil
}

// compareTotals compares the figures of an overview with those of the rows.
func (a *answeredRevenue) compareTotals(want Totals, which string, violate Violate) {
	got := map[string]int64{}
	for name, value := range a.Totals {
		got[name] = value
	}
	for _, other := range a.OtherCurrencies {
		got["mrr "+other.Currency], got["payments "+other.Currency] = other.MRRCents, other.PaymentsCents
	}
	delete(want, "mrr "+Reported)
	delete(want, "payments "+Reported)
	for name := range got {
		want[name] += 0
	}
	for name, value := range want {
		if got[name] != value {
			violate(miscount, "%s: %s is %d, the rows make %d", which, name, got[name], value)
		}
	}
}

// compareMoves compares the list of movements with that of the rows.
func compareMoves(ctx context.Context, server *harness.Server, query url.Values, want []Move, which string, violate Violate) error {
	query = url.Values{"env": query["env"], "range": query["range"], "limit": {"200"}}
	for place := 0; ; {
		var page struct {
			Data []struct {
				Ts                               time.Time
				Kind, SubscriptionID, CustomerID string
				Plan                             string
				Cents                            *int64
				Original                         struct {
					Currency string
					Cents    int64
				}
			}
			NextCursor string
		}
		if err := server.Read(ctx, "/revenue/movements", query, &page); err != nil {
			return err
		}
		for _, row := range page.Data {
			got := Move{row.Ts.UnixMilli(), row.Kind, row.SubscriptionID, row.CustomerID, row.Plan, row.Cents, row.Original.Currency, row.Original.Cents}
			if place >= len(want) || !reflect.DeepEqual(got, want[place]) {
				violate(miscount, "%s: movement %d is %s, the rows make %s", which, place, got.text(), at(want, place).text())
				return nil
			}
			place++
		}
		if query.Set("cursor", page.NextCursor); page.NextCursor == "" || len(page.Data) == 0 {
			if place != len(want) {
				violate(miscount, "%s: %d movements, the rows make %d", which, place, len(want))
			}
			return nil
		}
	}
}

func at(moves []Move, n int) *Move {
	if n >= len(moves) {
		return nil
	}
	return &moves[n]
}

func (m *Move) text() string {
	if m == nil {
		return "none"
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
