package main

import (
	"fmt"
	"net/url"
	"testing"
)

// TestEveryIDFindsThePerson looks up a person by each id on every route, and the person of an error.
func TestEveryIDFindsThePerson(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	s.send(
		map[string]any{"type": "identify", "distinctId": "ada@acme.example", "anonymousId": "device-1", "traits": map[string]any{"plan": "pro"}},
		map[string]any{"type": "event", "name": "buy", "distinctId": "ada@acme.example"},
		map[string]any{"type": "error", "name": "Broken", "distinctId": "ada@acme.example"},
		map[string]any{"type": "error", "name": "Broken", "anonymousId": "device-1"},
		map[string]any{"type": "error", "name": "Broken", "anonymousId": "stranger"},
	)
	s.settled()
	id := s.get(appPath + "/people")["data"].([]any)[0].(map[string]any)["id"].(string)
	for _, one := range []string{id, "ada@acme.example", "device-1"} {
		path := appPath + "/people/" + url.PathEscape(one)
		if got := s.get(path); got["id"] != id {
			t.Errorf("%s is %v", one, got)
		}
		if rows := s.get(path + "/timeline?kind=event")["data"].([]any); len(rows) != 2 {
			t.Errorf("%s has %d entries", one, len(rows))
		}
		if got := s.call("PATCH", path, s.boot.Token, []byte(fmt.Sprintf(`{"tags":[%q]}`, "t-"+fmt.Sprint(len(one)))), nil); got.status != 200 || object(t, got.body)["id"] != id {
			t.Errorf("changing %s: %d %s", one, got.status, got.body)
		}
		if got := s.call("POST", path+"/notes", s.boot.Token, []byte(`{"text":"hello"}`), nil); got.status != 201 {
			t.Errorf("a note for %s: %d %s", one, got.status, got.body)
		}
		if got := s.call("GET", path+"/export", s.boot.Token, nil, nil); got.status != 200 {
			t.Errorf("exporting %s: %d %s", one, got.status, got.body)
		}
	}
	issue := s.get(appPath + "/errors")["data"].([]any)[0].(map[string]any)["id"].(string)
	met := map[string]int{}
	for _, row := range s.get(appPath + "/errors/" + issue + "/events")["data"].([]any) {
		met[fmt.Sprint(row.(map[string]any)["personId"])]++
	}
	if met[id] != 2 || met["<nil>"] != 1 {
		t.Errorf("the errors met %v, the person is %s", met, id)
	}
	for _, nobody := range []string{"nobody", "undefined", "stranger"} {
		if got := s.call("GET", appPath+"/people/"+nobody, s.boot.Token, nil, nil); got.status != 404 {
			t.Errorf("%s: %d %s", nobody, got.status, got.body)
		}
	}
}
