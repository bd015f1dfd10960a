package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/domain/conversation"
	"svc/http/outbound/llm/llmtest"
)

// freeAddress returns an unused loopback address. Its port is below the range from which the kernel assigns ports to
// outgoing connections, which could take it before the server under test listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(22_000)))
		if listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address); err == nil {
			_ = listener.Close()
			return address
		} else if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// startNodes starts nodes as separate processes. The first one serves the log and the store for all; every node takes
// part in the cluster when startNodes returns.
func startNodes(t *testing.T, env map[string]string) (nodes []*server) {
	t.Helper()
	return startNodesWith(t, env, startChild)
}

// startNodesWith starts nodes; start starts the first one.
func startNodesWith(t *testing.T, env map[string]string, start func(t *testing.T, dir string, env map[string]string) *server) (nodes []*server) {
	t.Helper()
	log, store := freeAddress(t), freeAddress(t)
	var first []byte
	for i := range 3 {
		dir := t.TempDir()
		more := map[string]string{"SVC_NODE_ADDR": freeAddress(t), "SVC_CLUSTER_SECRET": "the secret of the nodes", "SVC_MASTER_KEY": "the master key of the nodes"}
		maps.Copy(more, env)
		if i == 0 {
			more["SVC_KAFKA_LISTEN"], more["SVC_CLICKHOUSE_LISTEN"] = log, store
			nodes = append(nodes, start(t, dir, more))
			var err error
			if first, err = os.ReadFile(filepath.Join(dir, "bootstrap.json")); err != nil {
				t.Fatal(err)
			}
		} else {
			more["SVC_KAFKA_BROKERS"], more["SVC_CLICKHOUSE_DSN"] = log, "http://"+store+"/svc"
			// Only the first node creates the first organization; the others get its bootstrap file.
			if err := os.WriteFile(filepath.Join(dir, "bootstrap.json"), first, 0o600); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, startChild(t, dir, more))
		}
		nodes[i].env = more
	}
	for i, s := range nodes {
		s.serves(t, fmt.Sprintf("node %d answers", i))
	}
	return nodes
}

// serves waits until a node takes part in the cluster.
func (s *server) serves(t *testing.T, what string) {
	t.Helper()
	eventually(t, what, func() error {
		if got, err := s.try("GET", appPath+"/goals", s.boot.Token, nil, nil); err != nil || got.status != 200 {
			return fmt.Errorf("%d %s: %w", got.status, got.body, err)
		}
		return nil
	})
}

// again retries a request at a node until the actor has an owner again.
func (s *server) again(t *testing.T, method, path, body string, status int) map[string]any {
	t.Helper()
	var answer map[string]any
	eventually(t, method+" "+path, func() error {
		got := s.call(method, path, s.boot.Token, []byte(body), nil)
		if got.status != status {
			return fmt.Errorf("%d %s", got.status, got.body)
		}
		answer = object(t, got.body)
		return nil
	})
	return answer
}

// follow reads a conversation's stream at a node to its end.
func (s *server) follow(conversation, after string) []frame {
	s.t.Helper()
	return s.stream("GET", appPath+"/ai/conversations/"+conversation, s.boot.Token, "", map[string]string{"Last-Event-ID": after}, nil)
}

// ascending reports whether the ids of frames increase.
func ascending(t *testing.T, frames []frame) bool {
	t.Helper()
	var ids []uint64
	for _, f := range frames {
		var id uint64
		if err := json.Unmarshal([]byte(f.id), &id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return slices.IsSorted(ids) && len(slices.Compact(ids)) == len(frames)
}

// TestAConversationIsOneOnAllNodes asks at one node, follows at another while the turn runs, approves at a third and
// continues at the first.
func TestAConversationIsOneOnAllNodes(t *testing.T) {
	held := make(chan struct{})
	model := llmtest.Serve(t, conversation.ProviderOpenAI, func(n int, _ []byte) llmtest.Round {
		switch n {
		case 0:
			return llmtest.Round{Text: []string{"I look. "}, Wait: held, Calls: []conversation.ToolCall{call("c1", "apps_get", `{}`)}}
		case 1:
			return called(call("c2", "goals_create", goalInput))
		}
		return said("It is done.")
	})
	nodes := startNodes(t, map[string]string{"SVC_AI_PROVIDER": "openai", "SVC_AI_API_KEY": "k", "SVC_AI_BASE_URL": model.URL})
	seen := nodes[0].stream("POST", appPath+"/ai/ask", nodes[0].boot.Token, `{"question":"Make a goal of signups."}`, nil, func(f frame) bool { return f.event == "text" })
	if got := shape(seen); got != "start status=running text" {
		t.Fatalf("at the first node: %s", got)
	}
	conversation := seen[0].data["conversationId"].(string)
	time.AfterFunc(time.Second, func() { close(held) }) // while the second node follows
	elsewhere := nodes[1].follow(conversation, seen[len(seen)-1].id)
	if got, want := shape(elsewhere), "start status=running text tool_call tool_result tool_call tool_result approval_required text status=awaiting done"; got != want || !ascending(t, append(seen, elsewhere...)) {
		t.Fatalf("at the second node:\n%s, want\n%s\n%v", got, want, elsewhere)
	}
	if again := nodes[2].follow(conversation, elsewhere[4].id); shape(again) != strings.TrimPrefix(shape(elsewhere), "start status=running text tool_call tool_result ") {
		t.Errorf("at the third node, from the middle: %s", shape(again))
	}
	action := find(t, elsewhere, "approval_required")["actions"].([]any)[0].(map[string]any)["id"].(string)
	if busy := nodes[1].call("POST", appPath+"/ai/ask", nodes[1].boot.Token, []byte(`{"question":"More?","conversationId":"`+conversation+`"}`), nil); busy.status != 409 {
		t.Errorf("asking while it waits: %d %s", busy.status, busy.body)
	}
	approved := nodes[2].stream("POST", appPath+"/ai/actions/"+action+"/approve", nodes[2].boot.Token, `{"reason":"yes"}`, nil, nil)
	if got := shape(approved); got != "start status=running action tool_result text status=done done" || find(t, approved, "action")["status"] != "executed" {
		t.Errorf("approving at the third node: %s", got)
	}
	if twice := nodes[0].call("POST", appPath+"/ai/actions/"+action+"/approve", nodes[0].boot.Token, []byte(`{}`), nil); twice.status != 409 {
		t.Errorf("approving again at the first node: %d %s", twice.status, twice.body)
	}
	for i, s := range nodes {
		if n := goals(t, s); n != 1 {
			t.Errorf("node %d has %d goals", i, n)
		}
	}
	if got := shape(nodes[0].ask("Thanks?", conversation)); got != "start status=running text status=done done" {
		t.Errorf("going on at the first node: %s", got)
	}
}

// TestATurnEndsWithItsNode kills the node that runs a turn after its first text. Another node reports the turn, ends it
// with a note once its node was silent for a lease, and accepts the next question. Nothing was written.
func TestATurnEndsWithItsNode(t *testing.T) {
	t.Parallel() // it waits for a lease
	held := make(chan struct{})
	t.Cleanup(func() { close(held) })
	model := llmtest.Serve(t, conversation.ProviderOpenAI, func(n int, _ []byte) llmtest.Round {
		if n == 0 {
			return llmtest.Round{Text: []string{"I make it. "}, Wait: held, Calls: []conversation.ToolCall{call("c1", "goals_create", goalInput)}}
		}
		return said("Here I am.")
	})
	nodes := startNodes(t, map[string]string{"SVC_AI_PROVIDER": "openai", "SVC_AI_API_KEY": "k", "SVC_AI_BASE_URL": model.URL})
	seen := nodes[1].stream("POST", appPath+"/ai/ask", nodes[1].boot.Token, `{"question":"Make a goal of signups."}`, nil, func(f frame) bool { return f.event == "text" })
	c := seen[0].data["conversationId"].(string)
	nodes[1].stopped()
	page := nodes[2].again(t, "GET", appPath+"/ai/conversations/"+c, "", 200)
	if page["state"] != "running" {
		t.Errorf("right after the kill: %v", page)
	}
	if busy := nodes[0].again(t, "POST", appPath+"/ai/ask", `{"question":"More?","conversationId":"`+c+`"}`, 409); busy["reason"] != "turn_running" {
		t.Errorf("asking meanwhile: %v", busy)
	}
	var ended []frame
	deadline := time.Now().Add(conversation.TurnLease + patience)
	for shape(ended) != "start status=running text status=done done" && time.Now().Before(deadline) {
		ended = nodes[2].follow(c, "0") // a stream may end early while an actor moves
	}
	if got := fmt.Sprint(ended); shape(ended) != "start status=running text status=done done" || !strings.Contains(got, "The turn was cut off before its end.") {
		t.Fatalf("the end of the turn: %s", got)
	}
	if rows := nodes[0].get(appPath + "/ai/actions?status=all")["data"].([]any); goals(t, nodes[0]) != 0 || len(rows) != 0 {
		t.Errorf("%d goals, actions %v", goals(t, nodes[0]), rows)
	}
	if got := shape(nodes[0].ask("Are you there?", c)); got != "start status=running text status=done done" {
		t.Errorf("the next question: %s", got)
	}
}
