// Command house prints the figures that the project holds itself to: sizes, modules, and turns of phrase in comments and
// documents. It ends with an error if a figure is above its limit.
package main

import (
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
)

func main() {
	worst := flag.Int("worst", 0, "print this number of lines with the most phrases of the list")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./cmd/house [-worst N]\n\nPrints the project's figures with their limits. Run it in the project's folder.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(*worst); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(worst int) error {
	figures, err := Measure(".")
	if err != nil {
		return err
	}
	phrases, err := Count(".")
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	above := 0
	for _, f := range append(figures, phrases.Figures()...) {
		mark := ""
		if f.Above() {
			above++
			mark = "above: " + f.Advice
		}
		fmt.Fprintf(table, "%s\t%.4g\tlimit %.4g\t%s\n", f.Name, f.Value, f.Limit, mark)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	for _, line := range phrases.Worst(worst) {
		fmt.Println(line)
	}
	if above > 0 {
		return fmt.Errorf("%d figures are above their limits", above)
	}
	return nil
}
