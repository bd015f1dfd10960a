package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Names of the server's figures that the harness watches.
const (
	MetricAccepted   = "svc_ingest_accepted_total"
	MetricFolded     = "svc_intake_events_total"
	MetricStored     = "svc_sink_rows_total"
	MetricDuplicates = "svc_intake_duplicates_total"
	MetricBlocks     = "svc_sink_blocks_total"
	MetricPastDays   = "svc_past_days_rounds_total"
)

// Lag is the number of accepted events that are not stored yet, by the figures of one run of the server.
func (m Metrics) Lag() int64 {
	return int64(m[MetricAccepted]) - int64(m[MetricStored]) - int64(m[MetricDuplicates])
}

// drainLook is the interval at which the backlog is polled. A scrape takes some milliseconds of the server, which count
// for the measured load.
const drainLook = 200 * time.Millisecond

// AwaitDrained waits until everything that this run of the server accepted is stored. It requires that the run began
// without a backlog.
func (s *Server) AwaitDrained(ctx context.Context, limit time.Duration) error {
	return Poll(ctx, "an empty backlog", limit, drainLook, func(ctx context.Context) (bool, string) {
		metrics, err := s.Scrape(ctx)
		if err != nil {
			return false, err.Error()
		}
		return metrics.Lag() <= 0, strconv.FormatInt(metrics.Lag(), 10) + " events"
	})
}

// AwaitPastDays waits until this run of the server has counted the past days.
func (s *Server) AwaitPastDays(ctx context.Context, limit time.Duration) error {
	return Poll(ctx, "counted past days", limit, 100*time.Millisecond, func(ctx context.Context) (bool, string) {
		metrics, err := s.Scrape(ctx)
		if err != nil {
			return false, err.Error()
		}
		return metrics[MetricPastDays] > 0, "no round has ended"
	})
}

// MarkerName is the name of barrier events.
const MarkerName = "bench_marker"

// MarkerVisitors is the number of visitors of the markers, the same for every barrier. With this number, the
// probability that one of 16 partitions gets no marker is below 10⁻¹².
const MarkerVisitors = 500

// Barrier sends markers into every partition and waits until the counts and the feed both show all of them: one of the
// two may show a block before the other. Partitions are stored in order, so everything acknowledged before is shown
// then, whichever run of the server accepted it. number distinguishes the markers of one data directory.
func (s *Server) Barrier(ctx context.Context, number int, limit time.Duration) error {
	before, err := s.NameCount(ctx, "production", MarkerName)
	if err != nil {
		return err
	}
	type marker struct {
		Type       string `json:"type"`
		ID         string `json:"id"`
		Name       string `json:"name"`
		DistinctID string `json:"distinctId"`
	}
	prefix := fmt.Sprintf("marker-%d-", number)
	items := make([]marker, MarkerVisitors)
	for n := range items {
		id := prefix + strconv.Itoa(n)
		items[n] = marker{Type: "event", ID: id, Name: MarkerName, DistinctID: fmt.Sprintf("marker-%d", n)}
	}
	body, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		return fmt.Errorf("encoding markers: %w", err)
	}
	conn := NewConn(s.Address, "/api/v1/batch", s.Keys["production"].Secret, UserAgents()[0])
	defer conn.Close()
	reply, err := conn.Post(body)
	if err != nil {
		return fmt.Errorf("sending markers: %w", err)
	}
	if reply.Status != http.StatusAccepted {
		return fmt.Errorf("sending markers: %w", errors.New(string(reply.Body)))
	}
	return Poll(ctx, "the markers", limit, 100*time.Millisecond, func(ctx context.Context) (bool, string) {
		count, err := s.NameCount(ctx, "production", MarkerName)
		if err != nil {
			return false, err.Error()
		}
		if count < before+MarkerVisitors {
			return false, fmt.Sprintf("%d of %d counted", count-before, MarkerVisitors)
		}
		var shown int
		err = s.EachEvent(ctx, "production", MarkerName, int(count)+MarkerVisitors, func(e StoredEvent) {
			if strings.HasPrefix(e.ID, prefix) {
				shown++
			}
		})
		if err != nil {
			return false, err.Error()
		}
		return shown >= MarkerVisitors, fmt.Sprintf("%d of %d in the feed", shown, MarkerVisitors)
	})
}
