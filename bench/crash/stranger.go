package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"svc/bench/harness"
)

const (
	// strangerApp is an application whose stored entities are all damaged.
	strangerApp = "mallory"
	// spoiledRelease and spoiledFile have a source map that names a missing source.
	spoiledRelease = "mallory@1"
	spoiledFile    = "https://mallory.example/a.js"
	spoiledMap     = `{"version":3,"sources":["a.ts"],"names":[],"mappings":"ACAA"}`
	// spoiledVersion is later than any writer's version.
	spoiledVersion = uint64(1) << 62
)

// stranger is an application whose settings, entities and source map were damaged in the store, as an older or a newer
// program may have left them. It has a key and a rule that cannot be decoded. Its alerting actor cannot be loaded and
// waits for new issues. Its source map cannot be used. Its items are still stored, and no other application is
// affected.
type stranger struct {
	server *harness.Server
	store  string
	key    string
	next   int
	// acked are the ids of the errors that were acknowledged.
	acked map[string]bool
}

// prepare creates the application and damages its stored data.
func (s *stranger) prepare(ctx context.Context) error {
	s.acked = map[string]bool{}
	org := "/api/v1/orgs/" + s.server.Organization + "/apps"
	app := "/api/v1/apps/" + s.server.Organization + "/" + strangerApp
	made, err := s.make(ctx, org, `{"name":"Mallory","slug":"`+strangerApp+`"}`)
	if err != nil {
		return err
	}
	number := made["id"]
	if made, err = s.make(ctx, app+"/keys", `{"kind":"secret","environment":"production","label":"crash"}`); err != nil {
		return err
	}
	s.key, _ = made["key"].(string)
	if _, err = s.make(ctx, app+"/alerts", `{"name":"News","kind":"new_issue"}`); err != nil {
		return err
	}
	owner := s.server.Organization + "/" + strangerApp
	for _, spoiled := range [][3]string{
		{"application/" + owner, "key", "key_spoiled"},
		{"alerting/" + owner, "rule", "rul_spoiled"},
		{"alerting/" + owner, "incident", "inc_spoiled"},
	} {
		if _, err := s.ask(ctx, fmt.Sprintf("INSERT INTO entities (owner, kind, id, version, deleted, payload) VALUES ('%s', '%s', '%s', %d, false, '{')",
			spoiled[0], spoiled[1], spoiled[2], spoiledVersion)); err != nil {
			return fmt.Errorf("spoiling a %s: %w", spoiled[1], err)
		}
	}
	path := strings.TrimPrefix(spoiledFile, "https://mallory.example/")
	_, err = s.ask(ctx, fmt.Sprintf("INSERT INTO source_maps (app, key, at, content) VALUES ('%s', 'file:%s\\0\\0~/%s', now64(3), '%s')", number, spoiledRelease, path, spoiledMap))
	if err != nil {
		return fmt.Errorf("spoiling a source map: %w", err)
	}
	return nil
}

// make creates an object over the API.
func (s *stranger) make(ctx context.Context, path, body string) (map[string]any, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.server.Address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.server.Token)
	answer, err := answerOf(request)
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", path, err)
	}
	made := map[string]any{}
	return made, json.Unmarshal(answer, &made)
}

// ask queries the store.
func (s *stranger) ask(ctx context.Context, query string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.store+"/?database=svc", strings.NewReader(query))
	if err != nil {
		return "", err
	}
	answer, err := answerOf(request)
	return string(answer), err
}

// answerOf sends a request and returns the answer unless it is a refusal.
func answerOf(request *http.Request) ([]byte, error) {
	response, err := (&http.Client{}).Do(request) // the context limits it
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		return nil, errors.Join(err, fmt.Errorf("status %d: %.500s", response.StatusCode, answer))
	}
	return answer, nil
}

// send sends an error of a new issue in the file of the damaged map, and another one with it.
func (s *stranger) send() {
	s.next++
	mapped, beside := fmt.Sprintf("mapped-%d", s.next), fmt.Sprintf("unmapped-%d", s.next)
	body := fmt.Appendf(nil, `{"items":[
		{"type":"error","id":"%s","name":"Fault%d","message":"in a spoiled map","release":"%s","frames":[{"file":"%s","function":"t","line":1,"column":1}]},
		{"type":"error","id":"%s","name":"Fault","message":"beside it"}]}`, mapped, s.next, spoiledRelease, spoiledFile, beside)
	conn := harness.NewConn(s.server.Address, "/api/v1/batch", s.key, harness.UserAgents()[0])
	defer conn.Close()
	reply, err := conn.Post(body)
	if err == nil && reply.Status == http.StatusAccepted {
		s.acked[mapped], s.acked[beside] = true, true
	}
}

// check compares the stored with the acknowledged errors.
func (s *stranger) check(ctx context.Context, found *findings) error {
	answer, err := s.ask(ctx, "SELECT id, count() FROM occurrences WHERE id LIKE '%mapped-%' GROUP BY id")
	if err != nil {
		return fmt.Errorf("reading the errors beside spoiled settings: %w", err)
	}
	stored := map[string]string{}
	for line := range strings.Lines(answer) {
		id, count, _ := strings.Cut(strings.TrimSpace(line), "\t")
		stored[id] = count
	}
	for id := range s.acked {
		if stored[id] != "1" {
			found.violate(spread, "the error %s is stored %q times", id, stored[id])
		}
	}
	return nil
}
