// Package cli parses the words and flags of sub-commands and suggests corrections for misspelt ones.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"svc/domain"
)

// ErrUsage is the error of an invalid command line; the help was already shown.
var ErrUsage = errors.New("usage")

// ParseFlags parses the words of a command. For a help flag it writes the usage to stdout and returns flag.ErrHelp. It
// refuses unknown flags, and words that are no flags, with a sentence that names them.
func ParseFlags(flags *flag.FlagSet, args []string, usage func(w io.Writer), stdout, stderr io.Writer) error {
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
			text = fmt.Sprintf("there is no flag --%s%s", strings.TrimLeft(name, "-"), domain.DidYouMean(strings.TrimLeft(name, "-"), "--", known))
		}
		fmt.Fprintf(stderr, "svc %s: %s\n\n", flags.Name(), text)
		usage(stderr)
		return ErrUsage
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "svc %s: the word %q is one too many\n\n", flags.Name(), flags.Arg(0))
		usage(stderr)
		return ErrUsage
	}
	return nil
}

// FolderAndFlags parses flags before and after the single folder argument of a command.
func FolderAndFlags(flags *flag.FlagSet, args []string) (dir string, err error) {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		dir, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return "", err
		}
		return "", ErrUsage
	}
	if dir == "" {
		dir = flags.Arg(0)
		args = flags.Args()[min(1, flags.NArg()):]
	} else {
		args = flags.Args()
	}
	if dir == "" || len(args) > 0 {
		flags.Usage()
		return "", ErrUsage
	}
	return dir, nil
}
