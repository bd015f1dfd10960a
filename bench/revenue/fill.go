package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/bench/harness"
)

const (
	// senders is the number of connections that fill the server, batch the number of items in a request.
	senders, batch = 4, 480
	// itemsEach is the number of items of a subscription.
	itemsEach = 8
	// storeTime limits the wait until everything is stored.
	storeTime = 10 * time.Minute
)

// item is one billing item.
type item struct {
	Type           string `json:"type"`
	ID             string `json:"id,omitempty"`
	Ts             string `json:"ts"`
	SubscriptionID string `json:"subscriptionId,omitempty"`
	CustomerID     string `json:"customerId"`
	Plan           string `json:"plan,omitempty"`
	Status         string `json:"status,omitempty"`
	Currency       string `json:"currency"`
	AmountCents    int64  `json:"amountCents"`
	PaymentID      string `json:"paymentId,omitempty"`
}

// canceled reports whether the n-th subscription ends.
func canceled(n int) bool { return n%5 == 0 }

// history returns the items of the n-th subscription, which began between 14 and 8 months before now.
func history(n int, now time.Time) []item {
	began := now.AddDate(0, -14, 0).Add(time.Duration(n*7919%(180*24*60)) * time.Minute)
	of := item{Type: "subscription", SubscriptionID: fmt.Sprint("sub-", n), CustomerID: fmt.Sprint("payer-", n*4/5), Plan: fmt.Sprint("plan-", n%12), Status: "active", Currency: "USD"}
	var items []item
	for step, days := range []int{0, 40, 130} {
		one := of
		one.ID, one.Ts, one.AmountCents = fmt.Sprint("s-", n, "-", step), stamp(began.AddDate(0, 0, days)), int64(1000+n%50*100+step*500)
		if step == 2 && canceled(n) {
			one.Status, one.AmountCents = "canceled", 0
		}
		items = append(items, one)
	}
	for bill := range itemsEach - len(items) {
		items = append(items, item{
			Type: "payment", Ts: stamp(began.AddDate(0, 0, 1+30*bill)), CustomerID: of.CustomerID, Currency: "USD", AmountCents: int64(1000 + n%50*100), PaymentID: fmt.Sprint("p-", n, "-", bill),
		})
	}
	return items
}

func stamp(at time.Time) string { return at.UTC().Format(harness.TimeFormat) }

// fill sends the items of all subscriptions and waits until they are stored.
func (b *bench) fill(ctx context.Context) error {
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	now, began := time.Now().UTC().Truncate(time.Second), time.Now()
	work, failed := make(chan []item, senders), make(chan error, senders)
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() { failed <- b.sender(work) })
	}
	sent, err := b.feed(ctx, work, failed, now)
	close(work)
	wg.Wait()
	for range senders {
		if err == nil {
			err = <-failed
		}
	}
	if err != nil {
		return err
	}
	b.items = sent
	if err := b.stored(ctx); err != nil {
		return err
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	elapsed := time.Since(began).Seconds()
	b.add(harness.Measurement{
		Name: "billing items sent and stored", Kind: harness.KindService, Events: uint64(sent), Seconds: elapsed, EventsPerSecond: float64(int(float64(sent) / elapsed)),
		CPUPerEvent: float64(usage.Server.Microseconds()) / float64(sent),
	})
	return nil
}

// feed makes the items and returns their number.
func (b *bench) feed(ctx context.Context, work chan<- []item, failed chan error, now time.Time) (sent int, err error) {
	var chunk []item
	for n := range b.subscriptions {
		chunk = append(chunk, history(n, now)...)
		if len(chunk) < batch && n+1 < b.subscriptions {
			continue
		}
		sent += len(chunk)
		select {
		case work <- chunk:
		case err := <-failed:
			failed <- nil // each sender reports once
			return sent, err
		case <-ctx.Done():
			return sent, context.Cause(ctx)
		}
		chunk = nil
	}
	return sent, nil
}

// sender sends batches on a separate connection.
func (b *bench) sender(work <-chan []item) error {
	conn := b.conn()
	defer conn.Close()
	for items := range work {
		if err := send(conn, items); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) conn() *harness.Conn {
	return harness.NewConn(b.server.Address, "/api/v1/revenue", b.server.Keys["production"].Secret, harness.UserAgents()[0])
}

// send sends items until they are accepted.
func send(conn *harness.Conn, items []item) error {
	body, err := json.Marshal(items)
	if err != nil {
		return err
	}
	for {
		reply, err := conn.Post(body)
		switch {
		case err != nil:
			return fmt.Errorf("sending billing items: %w", err)
		case reply.Status == http.StatusAccepted && strings.Contains(string(reply.Body), `"rejected":[]`):
			return nil
		case reply.Status != http.StatusServiceUnavailable && reply.Status != http.StatusTooManyRequests:
			return fmt.Errorf("sending billing items: %d %.300s", reply.Status, reply.Body)
		}
		time.Sleep(20 * time.Millisecond) // the server asked to retry later
	}
}

// stored waits until all items are stored.
func (b *bench) stored(ctx context.Context) error {
	return harness.Poll(ctx, "the billing items are stored", storeTime, 20*time.Millisecond, func(ctx context.Context) (bool, string) {
		answer, err := b.ask(ctx, "SELECT count() FROM billing")
		if err != nil {
			return false, err.Error()
		}
		count, err := strconv.Atoi(strings.TrimSpace(answer))
		return err == nil && count == b.items, fmt.Sprintf("%d of %d", count, b.items)
	})
}

// ask queries the store.
func (b *bench) ask(ctx context.Context, query string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.store+"/?database=svc&param_environment="+b.environment, strings.NewReader(query))
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{}).Do(request) // the context limits it
	if err != nil {
		return "", fmt.Errorf("asking the store: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("asking the store: status %d: %.300s", response.StatusCode, answer)
	}
	return string(answer), err
}
