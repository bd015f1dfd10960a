// Command report writes the table of the newest results into the README of bench, between its two marks.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"svc/bench/harness"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run() error {
	results := flag.String("results", "bench/results", "folder of results")
	readme := flag.String("readme", "bench/README.md", "file whose marked part is replaced")
	flag.Parse()
	read, err := harness.ReadResults(*results)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(*readme)
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	page, err := replace(string(text), tables(newest(read)))
	if err != nil {
		return err
	}
	if err := os.WriteFile(*readme, []byte(page), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// Marks around the generated part.
const (
	beginMark = "<!-- results: written by bench/report -->"
	endMark   = "<!-- end of results -->"
)

// replace puts a text between the marks of a page.
func replace(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, beginMark)
	_, after, ended := strings.Cut(rest, endMark)
	if !found || !ended {
		return "", errors.New("the page has no marks around its results")
	}
	return before + beginMark + "\n\n" + text + endMark + after, nil
}

// newest returns the last result of each scenario, with pinned and unpinned results separated, in the order of their
// dates.
func newest(results []harness.Result) []harness.Result {
	type key struct {
		scenario string
		pinned   bool
	}
	last := map[key]int{}
	for n := range results {
		last[key{results[n].Scenario, results[n].Pinned}] = n
	}
	var kept []harness.Result
	for n := range results {
		if last[key{results[n].Scenario, results[n].Pinned}] == n {
			kept = append(kept, results[n])
		}
	}
	return kept
}

// tables renders results as Markdown.
func tables(results []harness.Result) string {
	var out strings.Builder
	for n := range results {
		table(&out, &results[n])
	}
	return out.String()
}

func table(out *strings.Builder, result *harness.Result) {
	pinned := "unpinned"
	if result.Pinned {
		pinned = "server and generator on one processor each"
	}
	fmt.Fprintf(out, "### %s\n\n%s, commit %s, %s × %d, %d GiB, Linux %s, %s, %s; %.0f s.\nBottleneck: %s.\n\n",
		result.Scenario, result.Date.Format("2006-01-02 15:04"), result.Commit, result.Machine.Processor, result.Machine.Cores,
		result.Machine.MemoryGiB, result.Machine.Kernel, result.Machine.Go, pinned, result.Seconds, result.Bottleneck)
	out.WriteString("| | kind | events/s | µs CPU/event | p50 ms | p99 ms | longest ms | foreign CPU | more |\n|---|---|---|---|---|---|---|---|---|\n")
	for n := range result.Rows {
		row(out, &result.Rows[n])
	}
	out.WriteString("\n")
	ratios(out, result.Ratios)
	for _, violation := range result.Violations {
		fmt.Fprintf(out, "- **Violation:** %s\n", violation)
	}
	for _, note := range result.Notes {
		fmt.Fprintf(out, "- %s\n", note)
	}
	if len(result.Violations)+len(result.Notes) > 0 {
		out.WriteString("\n")
	}
}

func row(out *strings.Builder, m *harness.Measurement) {
	var p50, p99, longest string
	if m.Latency != nil {
		p50, p99, longest = number(m.Latency.P50), number(m.Latency.P99), number(m.Latency.Max)
	}
	var more []string
	if m.RSSBytes > 0 {
		more = append(more, fmt.Sprintf("RSS %d MiB", m.RSSBytes>>20))
	}
	for _, name := range harness.Keys(m.Extra) {
		more = append(more, name+" "+number(m.Extra[name]))
	}
	if m.Failures > 0 {
		more = append(more, fmt.Sprintf("**%d requests failed**", m.Failures))
	}
	foreign := fmt.Sprintf("%.0f %%", 100*m.Foreign)
	if m.Foreign > harness.QuietShare {
		foreign = "**" + foreign + "**"
	}
	fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", m.Name, m.Kind,
		number(m.EventsPerSecond), number(m.CPUPerEvent), p50, p99, longest, foreign, strings.Join(more, ", "))
}

// number renders a figure with three digits; nothing for an unmeasured one.
func number(x float64) string {
	switch {
	case x == 0:
		return ""
	case x >= 100 || x <= -100:
		return fmt.Sprintf("%.0f", x)
	default:
		return fmt.Sprintf("%.3g", x)
	}
}

func ratios(out *strings.Builder, ratios []harness.Ratio) {
	if len(ratios) == 0 {
		return
	}
	out.WriteString("| goal | | measured | bound | met |\n|---|---|---|---|---|\n")
	for _, ratio := range ratios {
		bound, met := "≥ ", "no"
		if ratio.AtMost {
			bound = "≤ "
		}
		if ratio.Met {
			met = "yes"
		}
		fmt.Fprintf(out, "| %s | %s | %.3g | %s%.4g | %s |\n", ratio.Goal, ratio.Name, ratio.Value, bound, ratio.Bound, met)
	}
	out.WriteString("\n")
}
