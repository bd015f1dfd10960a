package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc/domain/destination"
)

// held is a chat that answers no message until it is released.
type held struct {
	*receiver
	release chan struct{}
}

func newHeld(t *testing.T) *held {
	h := &held{newReceiver(t), make(chan struct{})}
	h.answer = func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-h.release:
			_, _ = w.Write([]byte("ok"))
		case <-r.Context().Done():
		}
	}
	return h
}

// said returns which of some words each message holds, sorted. The order in which a queue sends is not fixed.
func (h *held) said(words ...string) (found []string) {
	for _, one := range h.requests() {
		at := slices.IndexFunc(words, func(word string) bool { return strings.Contains(string(one.raw), word) })
		if at < 0 {
			found = append(found, string(one.raw))
			continue
		}
		found = append(found, words[at])
	}
	slices.Sort(found)
	return found
}

// TestNoChatHearsOfTheSameAfterARestore (F6) makes a backup while messages to chats are under way: of a conversion and of
// an incident. The former server sends them, and a conversion that is accepted shortly before the backup. The restored server
// sends none of them again unless a member replays it. It sends later messages, and repeats the messages of the webhook.
func TestNoChatHearsOfTheSameAfterARestore(t *testing.T) {
	dir := t.TempDir()
	c := &workshop{server: startServer(t, dir, watched()), values: map[string]any{}}
	c.session = c.server.session()
	chat, hook, pager := newHeld(t), newHeld(t), newHeld(t)
	toChat := c.console("POST", "/destinations", `{"kind":"slack","name":"Chat","mapping":[{"event":"purchase"}]}`)["id"].(string)
	c.console("PUT", "/destinations/"+toChat+"/credential", fmt.Sprintf(`{"credential":"%s/chat"}`, chat.URL))
	toHook, _ := c.destination(c.session, fmt.Sprintf(purchases, hook.URL))
	channel := c.console("POST", "/channels", fmt.Sprintf(`{"name":"Duty","kind":"slack","url":"%s/pager"}`, pager.URL))["id"].(string)
	down := &outage{site: newSite(t)}
	down.prepare(c, "Shop", channel)
	purchase := func(id string) {
		c.send(map[string]any{"type": "event", "id": id, "name": "purchase", "distinctId": "ada", "url": "https://acme.example/" + id})
	}
	words := []string{"order-waiting", "order-logged", "order-later", "RESOLVED", "WARNING"}
	hears := func(what string, h *held, want ...string) {
		t.Helper()
		eventually(t, what, func() error {
			slices.Sort(want)
			if got := h.said(words...); !slices.Equal(got, want) {
				return fmt.Errorf("%q, want %q", got, want)
			}
			return nil
		})
	}
	purchase("order-waiting")
	hears("the chat is told", chat, "order-waiting")
	hears("the webhook is told", hook, "order-waiting")
	eventually(t, "the monitor is up", func() error {
		if down.site.checks.Load() == 0 {
			return errors.New("nothing was checked")
		}
		return nil
	})
	down.site.down.Store(true)
	hears("the pager is told", pager, "WARNING")
	purchase("order-logged")

	kept := filepath.Join(t.TempDir(), "backup")
	if printed, err := c.backUp(kept); err != nil {
		t.Fatal(printed, err)
	}
	for _, h := range []*held{chat, hook, pager} {
		close(h.release)
	}
	hears("the chat is told of both", chat, "order-waiting", "order-logged")
	hears("the webhook is told of both", hook, "order-waiting", "order-logged")
	c.stopped()

	folder, printed, err := restored(t, kept, watched())
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	bootstrap, err := os.ReadFile(filepath.Join(dir, "bootstrap.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "bootstrap.json"), bootstrap, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.server = startServer(t, folder, watched())
	hears("the webhook is told of both again", hook, "order-waiting", "order-logged", "order-waiting", "order-logged")
	var parked []map[string]any
	eventually(t, "what the chat may have heard is parked", func() error {
		if parked = c.deliveries(toChat, "status=parked"); len(parked) != 2 {
			return fmt.Errorf("%v", c.deliveries(toChat, ""))
		}
		return nil
	})
	for _, row := range parked {
		if row["error"] != destination.OlderThanRestore {
			t.Errorf("a delivery is %v", row)
		}
	}
	purchase("order-later")
	hears("the chat is told of the later one only", chat, "order-waiting", "order-logged", "order-later")
	if got := len(c.deliveries(toHook, "status=accepted")); got < 2 {
		t.Errorf("the webhook took %d", got)
	}

	down.site.down.Store(false)
	for _, row := range c.get(appPath + "/incidents")["data"].([]any) {
		c.console("POST", "/incidents/"+row.(map[string]any)["id"].(string)+"/resolve", "")
	}
	hears("the pager is told of the end only", pager, "WARNING", "RESOLVED")
	if got := c.manage("POST", "/channels/"+channel+"/test", ""); got["ok"] != true {
		t.Errorf("a test of the channel answers %v", got)
	}

	eventually(t, "all outcomes are recorded", func() error {
		for _, row := range c.get(destinationsPath)["data"].([]any) {
			if row.(map[string]any)["waiting"] != 0.0 {
				return fmt.Errorf("%v", row)
			}
		}
		return nil
	})
	c.stopped()
	c.server = startServer(t, folder, watched())
	if status, answer := c.replay(toChat, `{"deliveryId":"`+destination.DispatchID(toChat, "order-waiting")+`"}`); status != 200 || answer["replayed"] != 1.0 {
		t.Fatalf("replaying: %d %v", status, answer)
	}
	hears("the chat is told of what is replayed", chat, "order-waiting", "order-logged", "order-later", "order-waiting")
}
