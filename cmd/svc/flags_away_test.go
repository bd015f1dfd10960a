package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"svc/storage/kafka/broker"
)

// awayTime is how long flags are evaluated while a component is unavailable.
const awayTime = 3 * time.Second

// evaluatesAll queries nodes repeatedly, for new visitors, while a component is unavailable: each answers, and all by
// the definition of nav.
func evaluatesAll(t *testing.T, while string, nodes ...*server) {
	t.Helper()
	asked := 0
	for until := time.Now().Add(awayTime); time.Now().Before(until); {
		for place, s := range nodes {
			asked++
			answer, err := s.try("POST", "/api/v1/flags/evaluate", s.boot.Keys["production"].Public, fmt.Appendf(nil, `{"distinctId":"visitor-%d"}`, asked), nil)
			if err != nil || answer.status != 200 || !strings.Contains(string(answer.body), `"nav":{"enabled":true,`) {
				t.Fatalf("while %s, node %d answers evaluation %d with %v, %d: %s", while, place, asked, err, answer.status, answer.body)
			}
		}
	}
	if asked < 100 {
		t.Errorf("while %s, only %d evaluations were asked for", while, asked)
	}
}

// TestFlagsAreEvaluatedWhileTheStoreIsAway cuts the store off: the last known definitions answer. A change takes effect
// as well, because it needs only the log.
func TestFlagsAreEvaluatedWhileTheStoreIsAway(t *testing.T) {
	start, store := startBehindCable(t)
	s := start()
	s.putFlag("nav", fmt.Sprintf(navFlag, true))
	store.pull()
	defer store.plug()
	evaluatesAll(t, "the store is away", s)
	s.putFlag("nav", fmt.Sprintf(navFlag, false))
	if s.evaluateFlags(`{"distinctId":"u1"}`).Flags["nav"].Enabled {
		t.Error("a change that was answered while the store is away is not evaluated")
	}
}

// TestFlagsAreEvaluatedWhileTheLogIsAway stops the log: the last known definitions answer.
func TestFlagsAreEvaluatedWhileTheLogIsAway(t *testing.T) {
	folder, addr := t.TempDir(), freeAddress(t)
	log, err := broker.Open(broker.Config{Dir: folder, Topics: []string{ingestTopic}, Partitions: 4, Addr: addr, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	s := startServer(t, t.TempDir(), map[string]string{"SVC_KAFKA_BROKERS": addr})
	s.putFlag("nav", fmt.Sprintf(navFlag, true))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"name":"page_view","distinctId":"u"}`)
	if got := s.call("POST", "/api/v1/events", s.boot.Keys["production"].Public, body, nil); got.status != 503 {
		t.Fatalf("the log is not away: an event is answered %d %s", got.status, got.body)
	}
	evaluatesAll(t, "the log is away", s)
	log, err = broker.Open(broker.Config{Dir: folder, Topics: []string{ingestTopic}, Partitions: 4, Addr: addr, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "flags are changed again", func() error {
		if status, text, _ := s.sendFlags("PUT", flagsPath+"/nav", s.boot.Token, fmt.Sprintf(navFlag, false)); status != 200 {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
}

// TestFlagsAreEvaluatedWhileANodeIsGone kills a node of three without warning: the others answer by the last known
// definitions until the cluster has taken over its part, and then by a change of them.
func TestFlagsAreEvaluatedWhileANodeIsGone(t *testing.T) {
	nodes := startNodes(t, nil)
	nodes[0].putFlag("nav", fmt.Sprintf(navFlag, true))
	left := nodes[:2]
	for place, s := range nodes {
		eventually(t, fmt.Sprintf("node %d has the flag", place), func() error {
			if !s.evaluateFlags(`{"distinctId":"u1"}`).Flags["nav"].Enabled {
				return fmt.Errorf("it has not")
			}
			return nil
		})
	}
	nodes[2].stopped()
	evaluatesAll(t, "a node is gone", left...)
	left[1].again(t, "PUT", flagsPath+"/nav", fmt.Sprintf(navFlag, false), 200)
	for place, s := range left {
		eventually(t, fmt.Sprintf("node %d has the change", place), func() error {
			if s.evaluateFlags(`{"distinctId":"u1"}`).Flags["nav"].Enabled {
				return fmt.Errorf("it has not")
			}
			return nil
		})
	}
}

// TestAnAgentProposesFlagsAndChangesNone lets an agent switch a flag of production off and archive it, with a token
// that may write flags. Both actions are destructive and wait for a person with a passkey, and the flag is unchanged.
func TestAnAgentProposesFlagsAndChangesNone(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	s.putFlag("nav", fmt.Sprintf(navFlag, true))
	for tool, arguments := range map[string]map[string]any{
		"flags_put": {
			"key": "nav", "name": "Navigation", "kind": "boolean",
			"environments": map[string]any{"production": map[string]any{"enabled": false, "rolloutPercent": 100}},
		},
		"flags_archive": {"key": "nav"},
	} {
		proposed, failed := s.mcpCall("call_write", map[string]any{"tool": tool, "arguments": arguments})
		action, _ := proposed["action"].(map[string]any)
		if failed || proposed["executed"] != false || action["effect"] != "destructive" {
			t.Fatalf("%s: %v", tool, proposed)
		}
		approve := fmt.Sprintf("%s/ai/actions/%s/approve", appPath, action["id"])
		if got := s.call("POST", approve, s.boot.Token, []byte(`{"reason":"yes"}`), nil); got.status != 403 {
			t.Errorf("%s is approved without a passkey: %d %s", tool, got.status, got.body)
		}
		if nav := s.evaluateFlags(`{"distinctId":"u1"}`).Flags["nav"]; !nav.Enabled {
			t.Errorf("after the proposal of %s the flag is %+v", tool, nav)
		}
	}
}
