package main

import (
	"context"
	"fmt"
	"time"

	"svc/bench/harness"
)

// Kinds of violations.
const (
	lost     = "acknowledged and lost"
	twice    = "stored twice"
	invented = "stored and never sent"
	changed  = "stored otherwise than sent"
	miscount = "counted wrongly"
	answered = "unexpected answer"
)

// findings is the result of reading everything back.
type findings struct {
	stored int
	// counts is the number of violations of each kind; the first few of each are reported.
	counts     map[string]int
	violations []string
	// moves counts the compared movements of revenue.
	moves int
}

func (f *findings) violate(kind, format string, args ...any) {
	const told = 10
	if f.counts[kind]++; f.counts[kind] <= told {
		f.violations = append(f.violations, kind+": "+fmt.Sprintf(format, args...))
	}
}

// check reads all events back through the feed and compares them with the
// ledger and with the aggregates. Nothing is sent meanwhile.
func check(ctx context.Context, server *harness.Server, ledger *ledger) (*findings, error) {
	found := &findings{counts: map[string]int{}}
	users := map[int]struct{}{}
	err := server.EachEvent(ctx, "production", "$pageview", 2*len(ledger.entries)+1000, func(event harness.StoredEvent) {
		found.stored++
		n, err := ledger.find(event.ID)
		if err != nil {
			found.violate(invented, "%v", err)
			return
		}
		known := &ledger.entries[n]
		if known.stored++; known.stored == 2 {
			found.violate(twice, "%s (%s)", event.ID, fateNames()[known.fate])
		}
		users[userOf(n)] = struct{}{}
		found.compare(event, n, known)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the events back: %w", err)
	}
	for n := range ledger.entries {
		if known := &ledger.entries[n]; known.fate == acknowledged && known.stored == 0 {
			found.violate(lost, "%s, sent at %s", ledger.id(n), time.UnixMilli(known.ts).UTC().Format(harness.TimeFormat))
		}
	}
	return found, found.aggregates(ctx, server, len(users))
}

func fateNames() [acknowledged + 1]string {
	return [...]string{unsent: "unsent", unknown: "unknown", acknowledged: "acknowledged"}
}

// compare compares a stored event with the sent one.
func (f *findings) compare(event harness.StoredEvent, n int, known *entry) {
	if known.fate == unsent {
		f.violate(invented, "%s", event.ID)
	}
	if want := fmt.Sprintf("user-%08d", userOf(n)); event.DistinctID != want {
		f.violate(changed, "%s has the visitor %s, sent was %s", event.ID, event.DistinctID, want)
	}
	if want := time.UnixMilli(known.ts).UTC().Format(harness.TimeFormat); event.Ts != want {
		f.violate(changed, "%s has the time %s, sent was %s", event.ID, event.Ts, want)
	}
}

// aggregates compares the sums that were maintained on insert with the rows.
func (f *findings) aggregates(ctx context.Context, server *harness.Server, users int) error {
	headline, err := server.Overview(ctx, "production", "24h")
	if err != nil {
		return fmt.Errorf("reading the overview: %w", err)
	}
	if headline.Pageviews != uint64(f.stored) {
		f.violate(miscount, "overview counts %d page views, the feed holds %d", headline.Pageviews, f.stored)
	}
	if want := uint64(users + harness.MarkerVisitors); headline.UniqueVisitors != want {
		f.violate(miscount, "overview counts %d visitors, the feed and the markers have %d", headline.UniqueVisitors, want)
	}
	filtered, err := server.Overview(ctx, "production", "24h", "event:$pageview")
	if err != nil {
		return fmt.Errorf("reading the filtered overview: %w", err)
	}
	if filtered.Pageviews != uint64(f.stored) || filtered.UniqueVisitors != uint64(users) {
		f.violate(miscount, "the filtered overview counts %d page views of %d visitors, the feed holds %d of %d", filtered.Pageviews, filtered.UniqueVisitors, f.stored, users)
	}
	names, err := server.NameCounts(ctx, "production")
	if err != nil {
		return fmt.Errorf("reading the names: %w", err)
	}
	if count := names["$pageview"]; count != uint64(f.stored) {
		f.violate(miscount, "the names count %d events, the feed holds %d", count, f.stored)
	}
	return f.usage(ctx, server, names)
}

// usage compares the sums of telemetry with the rows. The fates of each day and signal add up to the received items,
// and the number of stored events is the number of rows.
func (f *findings) usage(ctx context.Context, server *harness.Server, names map[string]uint64) error {
	days, err := server.Fates(ctx, "production")
	if err != nil {
		return fmt.Errorf("reading the usage: %w", err)
	}
	var stored, rows uint64
	for date, signals := range days {
		for signal, usage := range signals {
			sum := usage.Stored + usage.Duplicates
			for _, items := range usage.Dropped {
				sum += items
			}
			if sum != usage.Received {
				f.violate(miscount, "telemetry received %d %s on %s, their fates add up to %d", usage.Received, signal, date, sum)
			}
		}
		stored += signals["events"].Stored
	}
	for _, count := range names {
		rows += count
	}
	if stored != rows {
		f.violate(miscount, "telemetry counts %d stored events, the names have %d", stored, rows)
	}
	return nil
}
