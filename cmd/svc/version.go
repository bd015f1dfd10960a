package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"svc/storage/chdb"
)

// runVersion prints what this binary is made of.
func runVersion(_ context.Context, _ []string, stdout, _ io.Writer) error {
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				commit = setting.Value
			}
		}
	}
	fmt.Fprintf(stdout, "svc %s (API %s, engine %s, %s %s/%s)\n", commit, apiRevision, chdb.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
