package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestTheReadsAgreeWithTheOverview sends visits and runs every analytic read over them.
func TestTheReadsAgreeWithTheOverview(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	for n := range 40 {
		s.send(item(fmt.Sprintf("read-%d", n), fmt.Sprintf("visitor-%d", n%8), fmt.Sprintf("/%d", n%3), time.Now()))
	}
	s.settled()
	overview := s.get(appPath + "/analytics/overview?range=7d")
	rows := s.get(appPath + "/analytics/breakdown?range=7d&dimension=path")["data"].([]any)
	pageviews := 0.0
	for _, row := range rows {
		pageviews += row.(map[string]any)["pageviews"].(float64)
	}
	if len(rows) != 3 || pageviews != 40 || overview["pageviews"] != pageviews {
		t.Errorf("%v, overview %v", rows, overview)
	}
	active := s.get(appPath + "/analytics/active-users?range=7d")
	for _, series := range []string{"dau", "wau", "mau"} {
		points := active[series].([]any)
		if last := points[len(points)-1].(map[string]any)["value"]; last != 8.0 {
			t.Errorf("%s: %v", series, points)
		}
	}
	cohorts := s.get(appPath + "/analytics/retention?range=7d")["cohorts"].([]any)
	size := 0.0
	for _, cohort := range cohorts {
		size += cohort.(map[string]any)["size"].(float64)
	}
	if size != 8 {
		t.Errorf("cohorts %v", cohorts)
	}
}

// TestTheLiveStreamFollowsTheStreamAndEndsWithTheServer reads frames over a connection.
func TestTheLiveStreamFollowsTheStreamAndEndsWithTheServer(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", s.boot.URL+appPath+"/analytics/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.boot.Token)
	request.Header.Set("Accept", "text/event-stream")
	response, err := new(http.Client).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); response.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("%d %s", response.StatusCode, got)
	}
	lines := bufio.NewReader(response.Body)
	visitors := func() float64 {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if data, found := strings.CutPrefix(line, "data: "); found {
				var view map[string]any
				if err := json.Unmarshal([]byte(data), &view); err != nil {
					t.Fatal(err)
				}
				return view["visitors"].(float64)
			}
		}
	}
	if got := visitors(); got != 0 {
		t.Errorf("%v visitors before anybody came", got)
	}
	for n, visitor := range []string{"ada", "bob"} {
		s.send(item("live-"+visitor, visitor, "/", time.Now()))
		for got := 0.0; got != float64(n+1); got = visitors() { // ends with the context if it never arrives
			if got > float64(n+1) {
				t.Fatalf("%v visitors, want %d", got, n+1)
			}
		}
	}
	began := time.Now()
	s.stopped()
	if rest, err := io.ReadAll(lines); err != nil {
		t.Errorf("the stream broke off after %q: %v", rest, err)
	}
	if took := time.Since(began); took > 14*time.Second { // the listener waits 15 s for requests that do not end
		t.Errorf("stopping took %s", took)
	}
}
