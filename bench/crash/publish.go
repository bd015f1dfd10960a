package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"svc/bench/harness"
)

// publish prints the table, writes the result, and fails on a violation.
func (r *run) publish(o *options, result *harness.Result, found *findings) error {
	counts := r.ledger.counts()
	for _, problem := range r.load.problems {
		found.violate(answered, "%s", problem)
	}
	unknownStored := 0
	for n := range r.ledger.entries {
		if known := &r.ledger.entries[n]; known.fate == unknown && known.stored > 0 {
			unknownStored++
		}
	}
	extra := map[string]float64{
		"kills": float64(len(r.kinds)), "acknowledged": float64(counts[acknowledged]), "unknown": float64(counts[unknown]),
		"unknownStored": float64(unknownStored), "unsent": float64(counts[unsent]), "sentAgain": float64(r.ledger.resent),
		"stored": float64(found.stored), "noAnswer": float64(r.load.broken), "noConnection": float64(r.load.unreached), "firstStartMs": float64(r.usual.Milliseconds()),
		"readBackMs": float64(r.read.Milliseconds()),
	}
	if r.poison != nil {
		extra["evaluations"], extra["evaluationsLost"] = float64(r.flags.counted[0]), float64(r.flags.lost[0])
		extra["besideSpoiled"] = float64(len(r.poison.stranger.acked))
		extra["poison"], extra["besidePoison"], extra["poisonDelayMs"] = float64(r.poison.acked), float64(len(r.poison.beside)), float64(r.poison.slowest.Milliseconds())
	}
	if r.billing != nil {
		extra["billing"], extra["billingMade"] = float64(r.billing.acked), float64(len(r.billing.fates))
		extra["billingMovements"], extra["billingAsked"] = float64(found.moves), float64(r.billing.asked)
	}
	for at, count := range r.kills {
		extra["kills."+string(at)] = float64(count)
	}
	for status, count := range r.load.statuses {
		extra[fmt.Sprintf("status.%d", status)] = float64(count)
	}
	for kind, count := range found.counts {
		extra["violations: "+kind] = float64(count)
	}
	row := harness.Measurement{Name: "restart to ready", Kind: harness.KindService, Extra: extra}
	if r.starts.Count() > 0 {
		starts := r.starts.Spread()
		row.Latency = &starts
	}
	result.Rows = []harness.Measurement{row}
	result.Violations = found.violations
	result.Bottleneck = "none: this run proves, it does not measure"
	result.Notes = []string{"SVC_LOG_SYNC=" + o.sync + "; the process is killed, the machine keeps its power"}
	return conclude(o, result, found)
}

// conclude prints and writes a result.
func conclude(o *options, result *harness.Result, found *findings) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range result.Rows {
		for _, name := range harness.Keys(row.Extra) {
			fmt.Fprintf(table, "%s\t%v\n", name, row.Extra[name])
		}
		if row.Latency != nil {
			fmt.Fprintf(table, "%s p50 / max\t%v / %v ms\n", row.Name, row.Latency.P50, row.Latency.Max)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	name, err := result.Write(o.results)
	if err != nil {
		return err
	}
	fmt.Println("written:", name)
	if len(found.violations) > 0 {
		return fmt.Errorf("violations (seed %d): %v\n  %s", o.seed, found.counts, strings.Join(found.violations, "\n  "))
	}
	fmt.Println("no violation")
	return nil
}
