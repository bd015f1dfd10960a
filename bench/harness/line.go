package harness

import (
	"fmt"
	"strings"
)

// QuietShare is the share of a core that other processes may use during a run that is published.
const QuietShare = 0.05

// Line renders a measurement for the terminal.
func Line(row *Measurement) string {
	var line strings.Builder
	fmt.Fprintf(&line, "%-8s %-40s", row.Kind, row.Name)
	if row.EventsPerSecond > 0 {
		fmt.Fprintf(&line, " %9.0f ev/s %7.2f µs/ev", row.EventsPerSecond, row.CPUPerEvent)
	}
	if row.Latency != nil {
		fmt.Fprintf(&line, "  p50 %.2f p99 %.2f max %.1f ms", row.Latency.P50, row.Latency.P99, row.Latency.Max)
	}
	if row.Foreign > QuietShare {
		fmt.Fprintf(&line, "  foreign %.0f %%", 100*row.Foreign)
	}
	if row.RSSBytes > 0 {
		fmt.Fprintf(&line, "  %d MiB", row.RSSBytes>>20)
	}
	for _, name := range Keys(row.Extra) {
		fmt.Fprintf(&line, "  %s %.4g", name, row.Extra[name])
	}
	if row.Failures > 0 {
		fmt.Fprintf(&line, "  FAILURES %d", row.Failures)
	}
	return line.String() + "\n"
}
