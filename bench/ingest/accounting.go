package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"svc/bench/harness"
)

const (
	// accountingShare limits the share of telemetry's accounting in the processor time of an event.
	accountingShare = 0.02
	// accounting are the functions that count the fates of items: while they are folded, on their way into the log if
	// they never entered it, and as rows of the block.
	accounting = `pipeline\.\(\*Intake\)\.(count|foldTally)$|pipeline\.counted|UsageCounts|block\.\(\*usageBlock\)|http/tally\.`
)

// shown matches the share of the requested samples in the output of go tool pprof.
var shown = regexp.MustCompile(`Showing nodes accounting for [^,]+, ([0-9.]+)% of`)

// accountingOf profiles the server for some seconds and returns the share of the samples with a function of the
// accounting on their stack, between 0 and 1.
func (b *bench) accountingOf(ctx context.Context, seconds int) (float64, error) {
	dir, err := os.MkdirTemp("", "svc-profile-")
	if err != nil {
		return 0, fmt.Errorf("making a directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a remaining profile does no harm
	name := filepath.Join(dir, "cpu")
	if err := profile(ctx, b.server, seconds, name); err != nil {
		return 0, fmt.Errorf("profiling the server: %w", err)
	}
	output, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodefraction=0", "-focus", accounting, name).CombinedOutput()
	if err != nil {
		if bytes.Contains(output, []byte("matched no samples")) {
			return 0, nil
		}
		return 0, fmt.Errorf("reading the profile: %w: %.500s", err, output)
	}
	found := shown.FindSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("reading the profile: %.500s", output)
	}
	percent, err := strconv.ParseFloat(string(found[1]), 64)
	return percent / 100, err
}

// profile writes a profile of the server's processor time to a file.
func profile(ctx context.Context, server *harness.Server, seconds int, name string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", server.Admin, seconds), http.NoBody)
	if err != nil {
		return err
	}
	if err := server.SignAsOperator(request); err != nil {
		return err
	}
	response, err := (&http.Client{}).Do(request) // the context limits it
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %.200s", response.Status, content)
	}
	return os.WriteFile(name, content, 0o600)
}
