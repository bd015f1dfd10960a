package assistant

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"svc"
)

// TestAFaultThatPassesIsToldAsOne ends turns by errors that stop while a node or the store is lost. The member is asked
// to try again, and does not read that something is broken.
func TestAFaultThatPassesIsToldAsOne(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		want  svc.Code
	}{
		"the store is away":       {fmt.Errorf("keeping a round: %w", svc.Unavailable("The store", time.Second)), svc.CodeUnavailable},
		"no answer in time":       {fmt.Errorf("asking user: %w", context.DeadlineExceeded), svc.CodeUnavailable},
		"the call was given up":   {fmt.Errorf("asking user: %w", context.Canceled), svc.CodeUnavailable},
		"the store was too slow":  {svc.Errorf(svc.CodeQueryTimeout, "slow"), svc.CodeUnavailable},
		"the provider is away":    {svc.Errorf(svc.CodeProviderUnavailable, "away"), svc.CodeProviderUnavailable},
		"something is not as due": {errors.New("broken"), svc.CodeInternal},
	} {
		told, failure := ending(c.cause)
		if told != "" || failure == nil || failure.Code != c.want {
			t.Errorf("%s: note %q, error %v; want the code %s", name, told, failure, c.want)
		}
	}
}
