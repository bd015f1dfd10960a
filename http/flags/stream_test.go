package flags

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/domain/flag"
)

// frames reads a stream of events, and sends each message with its id.
func frames(t *testing.T, url, key, seen string) <-chan [2]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Accept", "text/event-stream")
	if seen != "" {
		request.Header.Set("Last-Event-Id", seen)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream answers %d, %s", response.StatusCode, response.Header.Get("Content-Type"))
	}
	told := make(chan [2]string, 10)
	go func() {
		defer close(told)
		var id string
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if text, is := strings.CutPrefix(lines.Text(), "id: "); is {
				id = text
			}
			if text, is := strings.CutPrefix(lines.Text(), "data: "); is {
				told <- [2]string{id, text}
			}
		}
	}()
	return told
}

func next(t *testing.T, told <-chan [2]string) (id, data string) {
	t.Helper()
	select {
	case one, open := <-told:
		if !open {
			t.Fatal("the stream has ended")
		}
		return one[0], one[1]
	case <-time.After(30 * time.Second):
		t.Fatal("the stream is quiet")
	}
	return "", ""
}

// TestServersAreSentDefinitions follows the definitions like a server that evaluates itself. It must receive them at
// once and after each change, but not definitions that it has seen.
func TestServersAreSentDefinitions(t *testing.T) {
	definitions := &defined{}
	definitions.define(t, many(2, 1))
	server := httptest.NewServer(serving(t, definitions))
	t.Cleanup(server.Close)
	url := server.URL + "/api/v1/flags/definitions"

	told := frames(t, url, "secret", "")
	id, data := next(t, told)
	var first struct {
		Revision  uint64
		Algorithm string
		Flags     []struct {
			Key            string
			RolloutPercent float64
			Rules          []flag.Rule
		}
	}
	if err := json.Unmarshal([]byte(data), &first); err != nil || id != "2" || first.Revision != 2 || len(first.Flags) != 2 || first.Flags[0].RolloutPercent != 50 || len(first.Flags[0].Rules) != 1 || first.Algorithm != algorithm {
		t.Fatalf("the first message %s is %s: %v", id, data, err)
	}
	definitions.define(t, many(3, 1))
	if id, data = next(t, told); id != "6" || !strings.Contains(data, `"flag-2"`) {
		t.Errorf("after a change the message %s is %s", id, data)
	}

	// A server that reconnects with its last revision receives only the next change.
	back := frames(t, url, "secret", "6")
	definitions.define(t, many(1, 1))
	if id, data = next(t, back); id != "3" || strings.Contains(data, `"flag-2"`) {
		t.Errorf("after it came back the message %s is %s", id, data)
	}
}

// TestDefinitionsAreEncodedOnce lets many servers request the definitions of each revision. All get the same text,
// which is encoded once. A server with a current copy gets an answer without them.
func TestDefinitionsAreEncodedOnce(t *testing.T) {
	definitions := &defined{}
	handler := serving(t, definitions)
	for revision, want := range []int{1, 2} {
		definitions.define(t, many(20, 4))
		answers := make([]*httptest.ResponseRecorder, 16)
		var all sync.WaitGroup
		for n := range answers {
			all.Go(func() { answers[n] = definitionsOf(t, handler, "") })
		}
		all.Wait()
		for _, answer := range answers {
			if answer.Code != http.StatusOK || answer.Body.String() != answers[0].Body.String() || !strings.Contains(answer.Body.String(), `"environment":"production"`) {
				t.Fatalf("a server is answered %d %s", answer.Code, answer.Body)
			}
		}
		if known := definitionsOf(t, handler, answers[0].Header().Get("Etag")); known.Code != http.StatusNotModified {
			t.Errorf("who has the definitions is answered %d", known.Code)
		}
		if definitions.reads != want {
			t.Errorf("at change %d the definitions were read %d times, not %d", revision+1, definitions.reads, want)
		}
	}
	// Environments that no flag names share a set, and the answer contains the name of each.
	definitions.set = flag.NewFlagSet("", definitions.set.Revision, nil, (*flag.Names)(nil).Grown(nil), nil)
	for range 2 {
		if answer := definitionsOf(t, handler, ""); !strings.Contains(answer.Body.String(), `"environment":"production"`) {
			t.Errorf("the definitions are %s", answer.Body)
		}
	}
	if definitions.reads != 4 {
		t.Errorf("the definitions were read %d times", definitions.reads)
	}
}

// definitionsOf requests the definitions with a secret key; tag is the tag of the caller's copy.
func definitionsOf(t *testing.T, handler http.Handler, tag string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/api/v1/flags/definitions", http.NoBody)
	request.Header.Set("Authorization", "Bearer secret")
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// TestManyAreToldAtOnce sends one change to many subscribers.
func TestManyAreToldAtOnce(t *testing.T) {
	definitions := &defined{}
	definitions.define(t, many(1, 1))
	server := httptest.NewServer(serving(t, definitions))
	t.Cleanup(server.Close)
	var all []<-chan [2]string
	for range 100 {
		all = append(all, frames(t, server.URL+"/api/v1/flags/stream?key=public", "public", "1"))
	}
	definitions.define(t, many(1, 1))
	for _, told := range all {
		if id, data := next(t, told); id != "2" || !strings.Contains(data, `"revision":2`) {
			t.Fatalf("a subscriber is told %s %s", id, data)
		}
	}
}
