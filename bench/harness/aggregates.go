package harness

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

//go:embed aggregates.sql
var aggregatesQuery string

// WrongAggregates compares every aggregate of a store with its rows, and returns one line for each sum that differs, at
// most 100. The store must speak ClickHouse's HTTP at the address (SVC_CLICKHOUSE_LISTEN). It ignores differences that
// exist only during an insert, for example of a monitor's checks.
func WrongAggregates(ctx context.Context, address string) (wrong []string, err error) {
	const attempts = 5
	for n := range attempts {
		if wrong, err = wrongAggregates(ctx, address); err != nil || len(wrong) == 0 {
			return nil, err
		}
		if n < attempts-1 {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return wrong, nil
}

func wrongAggregates(ctx context.Context, address string) (wrong []string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/?database=svc", strings.NewReader(aggregatesQuery))
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	response, err := (&http.Client{}).Do(request) // the context limits it
	if err != nil {
		return nil, fmt.Errorf("comparing aggregates: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerBytes))
	if err != nil {
		return nil, fmt.Errorf("comparing aggregates: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("comparing aggregates: status %d: %.500s", response.StatusCode, answer)
	}
	for line := range strings.Lines(string(answer)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 5 {
			return nil, fmt.Errorf("comparing aggregates: unexpected line %q", line)
		}
		wrong = append(wrong, fmt.Sprintf("%s of environment %s at %s: the rows make %s, it says %s", fields[0], fields[1], fields[2], fields[3], fields[4]))
	}
	return wrong, nil
}
