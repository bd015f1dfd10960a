package settings

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"svc/cmd/svc/cli"
	"svc/domain"
)

// misspelt returns an error for every unknown variable with a name near that of a setting, and the other unknown names
// of the form SVC_…. The latter are no error: variables that a platform adds must not stop the server.
func misspelt(environment []string) (unread []string, err error) {
	known := []string{"SVC_URL", "SVC_TOKEN", "SVC_KEY", "SVC_CACHE_DIR"} // read by other commands
	for _, s := range settings() {
		known = append(known, s.name)
	}
	var problems []error
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "SVC_") || slices.Contains(known, name) {
			continue
		}
		if question := domain.DidYouMean(name, "", known); question != "" {
			problems = append(problems, fmt.Errorf("%s is no setting%s", name, question))
		} else {
			unread = append(unread, name)
		}
	}
	return unread, errors.Join(problems...)
}

// Read reads the environment of the process. It writes the unknown names to w.
func Read(w io.Writer) (Config, error) {
	config, err := Load(os.LookupEnv)
	unread, wrong := misspelt(os.Environ())
	for _, name := range unread {
		fmt.Fprintf(w, "svc: %s is no setting and is not read; `svc config --help` lists them\n", name)
	}
	return config, errors.Join(err, wrong)
}

// Value returns the value of a setting in the environment, else its default.
func Value(name string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	for _, s := range settings() {
		if s.name == name {
			return s.preset
		}
	}
	return ""
}

// Run prints the configuration with which the server would run.
func Run(_ context.Context, args []string, stdout, stderr io.Writer) error {
	usage := func(w io.Writer) {
		fmt.Fprint(w, "Usage: svc config\n\nPrints the effective configuration with secrets masked. These variables are read:\n\n")
		printSettings(w, func(s setting) string { return s.preset })
	}
	if err := cli.ParseFlags(flag.NewFlagSet("config", flag.ContinueOnError), args, usage, stdout, stderr); err != nil {
		return err
	}
	if _, err := Read(stderr); err != nil {
		return err
	}
	printSettings(stdout, func(s setting) string {
		value, set := os.LookupEnv(s.name)
		switch {
		case !set || value == "":
			return s.preset
		case s.secret:
			return "•••"
		}
		return value
	})
	return nil
}

func printSettings(w io.Writer, value func(setting) string) {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, s := range settings() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.name, value(s), s.unit, s.meaning)
	}
	_ = table.Flush()
}
