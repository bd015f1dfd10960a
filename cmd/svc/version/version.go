// Package version is `svc version`: it prints the sources of a binary.
package version

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"svc/cmd/svc/cli"
	"svc/storage/chdb"
)

// release names the version of a binary that was built from a copy without history; the Makefile sets it with -ldflags.
var release string //nolint:gochecknoglobals // the linker can set nothing else

// buildName returns the version of this binary: the name that the build gave it, else the commit or the module's
// version that the compiler recorded.
func buildName() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	name, changed := "", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			name = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changed = "-dirty"
		}
	}
	if name == "" {
		return cmp.Or(strings.Trim(info.Main.Version, "()"), "unknown")
	}
	return name + changed
}

// API is the date of the API's last addition (X-API-Revision).
const API = "2026-11-20"

// Run prints the versions of this binary and its components.
func Run(_ context.Context, args []string, stdout, stderr io.Writer) error {
	usage := func(w io.Writer) { fmt.Fprint(w, "Usage: svc version\n\nPrints what this binary is made of.\n") }
	if err := cli.ParseFlags(flag.NewFlagSet("version", flag.ContinueOnError), args, usage, stdout, stderr); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "svc %s (API %s, engine %s, %s %s/%s)\n", buildName(), API, chdb.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
