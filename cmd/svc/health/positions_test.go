package health

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// keptFor is a log that retains positions for this long, or does not report it.
type keptFor time.Duration

func (k keptFor) PositionsKept(context.Context) (time.Duration, error) {
	if k == 0 {
		return 0, errors.New("not allowed")
	}
	return time.Duration(k), nil
}

// TestALogThatForgetsPositionsIsNamed reads the warnings of a start about several logs.
func TestALogThatForgetsPositionsIsNamed(t *testing.T) {
	t.Parallel()
	for kept, want := range map[keptFor]string{
		0:                             "level=INFO",
		keptFor(7 * 24 * time.Hour):   "level=WARN",
		keptFor(positionsLong):        "",
		keptFor(365 * 24 * time.Hour): "",
	} {
		var out strings.Builder
		WarnOfForgottenPositions(t.Context(), kept, slog.New(slog.NewTextHandler(&out, nil)))
		if got := out.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("kept for %v: %q", time.Duration(kept), got)
		}
	}
}
