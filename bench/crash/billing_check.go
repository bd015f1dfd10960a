package main

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

//go:embed billing.rows.sql
var billingRowsQuery string

// check compares the stored items with those that were sent. It compares the revenue with the stored items twice: as the running server
// has it, and after a restart.
func (b *billing) check(ctx context.Context, found *findings) error {
	for _, problem := range b.problems {
		found.violate(answered, "%s", problem)
	}
	rows, err := b.settled(ctx)
	if err != nil {
		return err
	}
	b.compareRows(rows, found)
	if err := b.compareRevenue(ctx, rows, found, "the revenue that followed"); err != nil {
		return err
	}
	b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return fmt.Errorf("restarting: %w", err)
	}
	return b.compareRevenue(ctx, rows, found, "the revenue after a start")
}

// settled returns the stored items once all that were acknowledged are there, or do not come.
func (b *billing) settled(ctx context.Context) (rows []billingRow, err error) {
	waited := harness.Poll(ctx, "the acknowledged billing items", ackTime, 200*time.Millisecond, func(ctx context.Context) (bool, string) {
		if rows, err = b.rows(ctx); err != nil {
			return false, err.Error()
		}
		missing, stored := 0, map[string]bool{}
		for _, row := range rows {
			stored[row.name()] = true
		}
		for n, fate := range b.fates {
			if _, row := b.item(n); fate == acknowledged && !stored[row.name()] {
				missing++
			}
		}
		return missing == 0, fmt.Sprintf("%d are missing", missing)
	})
	if err != nil {
		return nil, errors.Join(err, waited)
	}
	return rows, nil // what is missing is found by compareRows
}

// name returns the key of the row in the store.
func (r *billingRow) name() string { return r.Kind + " " + r.Subject + " " + r.ID }

// rows reads the stored items.
func (b *billing) rows(ctx context.Context) (rows []billingRow, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.store+"/?database=svc", strings.NewReader(billingRowsQuery))
	if err != nil {
		return nil, err
	}
	answer, err := answerOf(request)
	if err != nil {
		return nil, fmt.Errorf("reading billing items: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	for {
		var row billingRow
		if err := decoder.Decode(&row); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return nil, fmt.Errorf("decoding billing items: %w", err)
		}
		rows = append(rows, row)
	}
}

// compareRows holds the stored items to what was sent.
func (b *billing) compareRows(rows []billingRow, found *findings) {
	stored, made := map[string]*billingRow{}, map[string]bool{}
	for n := range rows {
		if name := rows[n].name(); stored[name] != nil {
			found.violate(changed, "%s is stored in two ways", name)
		}
		stored[rows[n].name()] = &rows[n]
	}
	for n, fate := range b.fates {
		_, want := b.item(n)
		got := stored[want.name()]
		made[want.name()] = true // a rate may be sent as several items
		switch {
		case got == nil && fate == acknowledged:
			found.violate(lost, "the billing item %s", want.name())
		case got != nil && fate == unsent:
			found.violate(invented, "the billing item %s", want.name())
		case got != nil && fmt.Sprint(*got) != fmt.Sprint(want):
			found.violate(changed, "the billing item %+v, sent was %+v", *got, want)
		}
	}
	for name := range stored {
		if !made[name] {
			found.violate(invented, "the billing item %s", name)
		}
	}
}

// answeredRevenue is what is read of an overview.
type answeredRevenue struct {
	Currency        string
	Range           struct{ From, To time.Time }
	Totals          map[string]int64
	OtherCurrencies []struct {
		Currency                string
		MRRCents, PaymentsCents int64
	}
}

// compareRevenue holds the overview and the movements of some ranges to what plain code makes of the rows.
func (b *billing) compareRevenue(ctx context.Context, rows []billingRow, found *findings, which string) error {
	book := newBillingBook(rows)
	for _, days := range [][2]int{{0, billingDays - 1}, {60, 200}, {200, 230}} {
		key := "custom:" + b.base.AddDate(0, 0, days[0]).Format(time.DateOnly) + ".." + b.base.AddDate(0, 0, days[1]).Format(time.DateOnly)
		query := url.Values{"env": {billingEnvironment}, "range": {key}}
		var answer answeredRevenue
		err := harness.Poll(ctx, "a revenue", ackTime, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
			err := b.server.Read(ctx, "/revenue/overview", query, &answer)
			return err == nil, fmt.Sprint(err)
		})
		if err != nil {
			return err
		}
		totals, moves := book.count(answer.Range.From.UnixMilli(), answer.Range.To.UnixMilli())
		got := map[string]int64{}
		for name, value := range answer.Totals {
			got[name] = value
		}
		for _, other := range answer.OtherCurrencies {
			got["mrr "+other.Currency], got["payments "+other.Currency] = other.MRRCents, other.PaymentsCents
		}
		delete(totals, "mrr "+reported)
		delete(totals, "payments "+reported)
		for name := range got {
			totals[name] += 0
		}
		for name, want := range totals {
			if got[name] != want {
				found.violate(miscount, "%s of %s: %s is %d, the rows make %d", which, key, name, got[name], want)
			}
		}
		if answer.Currency != reported {
			found.violate(miscount, "%s is in %s", which, answer.Currency)
		}
		if err := b.compareMoves(ctx, query, moves, found, which+" of "+key); err != nil {
			return err
		}
		found.moves += len(moves)
	}
	return nil
}

// compareMoves holds the list of movements to those that the rows make.
func (b *billing) compareMoves(ctx context.Context, query url.Values, want []billingMove, found *findings, which string) error {
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
		if err := b.server.Read(ctx, "/revenue/movements", query, &page); err != nil {
			return err
		}
		for _, row := range page.Data {
			got := billingMove{row.Ts.UnixMilli(), row.Kind, row.SubscriptionID, row.CustomerID, row.Plan, row.Cents, row.Original.Currency, row.Original.Cents}
			if place >= len(want) || !reflect.DeepEqual(got, want[place]) {
				found.violate(miscount, "%s: movement %d is %s, the rows make %s", which, place, got.text(), at(want, place).text())
				return nil
			}
			place++
		}
		if query.Set("cursor", page.NextCursor); page.NextCursor == "" || len(page.Data) == 0 {
			if place != len(want) {
				found.violate(miscount, "%s: %d movements, the rows make %d", which, place, len(want))
			}
			return nil
		}
	}
}

func at(moves []billingMove, n int) *billingMove {
	if n >= len(moves) {
		return nil
	}
	return &moves[n]
}

func (m *billingMove) text() string {
	if m == nil {
		return "none"
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
