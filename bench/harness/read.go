package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// answerBytes limits an answer of the management API.
const answerBytes = 64 << 20

// get reads one complete answer.
func (s *Server) get(ctx context.Context, address, token string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("making the request: %w", err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("asking: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // the body was read
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytes))
	if err != nil {
		return 0, nil, fmt.Errorf("reading the answer: %w", err)
	}
	return response.StatusCode, body, nil
}

// Read reads a path below the application from the management API and decodes the answer.
func (s *Server) Read(ctx context.Context, path string, query url.Values, into any) error {
	address := "http://" + s.Address + "/api/v1/apps/" + s.Organization + "/" + s.App + path + "?" + query.Encode()
	status, body, err := s.get(ctx, address, s.Token)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("reading %s: status %d: %.300s", path, status, body)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("decoding %s: %w", path, err)
	}
	return nil
}

// Headline holds the members of an overview that the harness reads.
type Headline struct {
	Pageviews      uint64 `json:"pageviews"`
	UniqueVisitors uint64 `json:"uniqueVisitors"`
	Sessions       uint64 `json:"sessions"`
}

// Overview reads the headline of a range.
func (s *Server) Overview(ctx context.Context, environment, window string, filters ...string) (Headline, error) {
	var headline Headline
	err := s.Read(ctx, "/analytics/overview", url.Values{"env": {environment}, "range": {window}, "filter": filters}, &headline)
	return headline, err
}

// NameCounts reads the number of events of each name in the last day, including bots.
func (s *Server) NameCounts(ctx context.Context, environment string) (map[string]uint64, error) {
	var page struct {
		Data []struct {
			Name  string `json:"name"`
			Count uint64 `json:"count"`
		} `json:"data"`
	}
	query := url.Values{"env": {environment}, "range": {"24h"}, "includeBots": {"true"}, "limit": {"200"}}
	if err := s.Read(ctx, "/events/names", query, &page); err != nil {
		return nil, err
	}
	counts := map[string]uint64{}
	for _, row := range page.Data {
		counts[row.Name] = row.Count
	}
	return counts, nil
}

// NameCount reads the number of events of a name in the last day.
func (s *Server) NameCount(ctx context.Context, environment, name string) (uint64, error) {
	counts, err := s.NameCounts(ctx, environment)
	return counts[name], err
}

// Fates counts the items of one signal and day by their fate.
type Fates struct {
	Received   uint64            `json:"received"`
	Stored     uint64            `json:"stored"`
	Duplicates uint64            `json:"duplicates"`
	Dropped    map[string]uint64 `json:"dropped"`
}

// Fates reads the fates of the items of an environment, by day and signal.
func (s *Server) Fates(ctx context.Context, environment string) (map[string]map[string]Fates, error) {
	var telemetry struct {
		Usage []struct {
			Date    string           `json:"date"`
			Signals map[string]Fates `json:"signals"`
		} `json:"usage"`
	}
	if err := s.Read(ctx, "/telemetry", url.Values{"env": {environment}}, &telemetry); err != nil {
		return nil, err
	}
	days := map[string]map[string]Fates{}
	for _, day := range telemetry.Usage {
		days[day.Date] = day.Signals
	}
	return days, nil
}

// StoredEvent holds the members of an event of the feed that the harness reads.
type StoredEvent struct {
	ID         string `json:"id"`
	Ts         string `json:"ts"`
	Name       string `json:"name"`
	DistinctID string `json:"distinctId"`
}

// FeedPage is one page of the feed.
type FeedPage struct {
	Data       []StoredEvent `json:"data"`
	NextCursor string        `json:"nextCursor"`
}

// Feed reads one page of the feed.
func (s *Server) Feed(ctx context.Context, query url.Values) (FeedPage, error) {
	var page FeedPage
	err := s.Read(ctx, "/events", query, &page)
	return page, err
}

// EachEvent pages through the whole feed of an environment, newest first. It fails after limit events, to stop a cursor
// that loops.
func (s *Server) EachEvent(ctx context.Context, environment, name string, limit int, each func(StoredEvent)) error {
	query := url.Values{"env": {environment}, "name": {name}, "limit": {"500"}}
	for read := 0; ; {
		page, err := s.Feed(ctx, query)
		if err != nil {
			return fmt.Errorf("after %d events: %w", read, err)
		}
		for _, event := range page.Data {
			each(event)
		}
		if read += len(page.Data); read > limit {
			return fmt.Errorf("the feed holds more than %d events", limit)
		}
		if page.NextCursor == "" {
			return nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

// Metrics are the sums of a scrape by family, over all labels, and also the figure of each family with its labels.
// Buckets and quantiles are left out.
type Metrics map[string]float64

// Scrape reads the server's metrics.
func (s *Server) Scrape(ctx context.Context) (Metrics, error) {
	status, body, err := s.get(ctx, "http://"+s.Admin+"/metrics", "")
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("reading metrics: status %d", status)
	}
	return parseMetrics(body), nil
}

func parseMetrics(text []byte) Metrics {
	metrics := Metrics{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		name, _, _ := strings.Cut(line[:at], "{")
		if value, err := strconv.ParseFloat(line[at+1:], 64); err == nil && !strings.HasSuffix(name, "_bucket") {
			metrics[name] += value
			if name != line[:at] {
				metrics[line[:at]] = value
			}
		}
	}
	return metrics
}
