package assistant

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/conversation"
)

// TestAFaultThatPassesIsToldAsOne ends turns by errors that stop while a node or the store is lost. The member is asked
// to try again, and does not read that something is broken.
func TestAFaultThatPassesIsToldAsOne(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		want  domain.Code
	}{
		"the store is away":       {fmt.Errorf("keeping a round: %w", domain.Unavailable("The store", time.Second)), domain.CodeUnavailable},
		"no answer in time":       {fmt.Errorf("asking user: %w", context.DeadlineExceeded), domain.CodeUnavailable},
		"the call was given up":   {fmt.Errorf("asking user: %w", context.Canceled), domain.CodeUnavailable},
		"the store was too slow":  {domain.Errorf(domain.CodeQueryTimeout, "slow"), domain.CodeUnavailable},
		"the provider is away":    {domain.Errorf(conversation.CodeProviderUnavailable, "away"), conversation.CodeProviderUnavailable},
		"something is not as due": {errors.New("broken"), domain.CodeInternal},
	} {
		told, failure := ending(c.cause)
		if told != "" || failure == nil || failure.Code != c.want {
			t.Errorf("%s: note %q, error %v; want the code %s", name, told, failure, c.want)
		}
	}
}
