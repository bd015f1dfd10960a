package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// parseFlags reads the words of a command. Asked for help it shows the usage on stdout and
// returns flag.ErrHelp; a flag that is not known, and words beside flags, are refused with
// a sentence that says which.
func parseFlags(flags *flag.FlagSet, args []string, usage func(w io.Writer), stdout, stderr io.Writer) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(stdout)
		return err
	case err != nil:
		text := err.Error()
		if name, unknown := strings.CutPrefix(text, "flag provided but not defined: -"); unknown {
			var known []string
			flags.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
			text = fmt.Sprintf("there is no flag --%s%s", strings.TrimLeft(name, "-"), didYouMean(strings.TrimLeft(name, "-"), "--", known))
		}
		fmt.Fprintf(stderr, "svc %s: %s\n\n", flags.Name(), text)
		usage(stderr)
		return errUsage
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "svc %s: the word %q is one too many\n\n", flags.Name(), flags.Arg(0))
		usage(stderr)
		return errUsage
	}
	return nil
}

// didYouMean returns a question after the known word that is nearest to a misspelt one, and
// nothing where none is near.
func didYouMean(word, prefix string, known []string) string {
	nearest, least := "", 1+max(1, len(word)/4)
	for _, candidate := range known {
		if d := distance(word, candidate); d < least {
			nearest, least = candidate, d
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, nearest)
}

// distance counts the letters that must be added, removed, changed, or exchanged with their
// neighbour, to make one word of another.
func distance(a, b string) int {
	var before []int
	previous, current := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			current[j+1] = min(previous[j+1]+1, current[j]+1, previous[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}
		before, previous, current = previous, current, make([]int, len(b)+1)
	}
	return previous[len(b)]
}
