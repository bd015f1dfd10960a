package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/domain/conversation"
	"svc/http/outbound/llm/llmtest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// scenario is the input of a member and the answers of a model, in a separate conversation.
type scenario struct {
	name   string
	rounds []llmtest.Round
	// steps are "ask QUESTION", "approve REASON" or "reject REASON"; the last two decide on the action that was
	// proposed last.
	steps []string
	// waits makes the model wait after its first text until the member has it.
	waits bool
}

func breaking(round llmtest.Round, times int) (list []llmtest.Round) {
	return slices.Repeat([]llmtest.Round{round}, times)
}

// scenarios are run with every provider. Their order avoids five consecutive failures before the last one, so that the
// breaker stays closed.
func scenarios() []scenario {
	words := []string{"Let ", "me ", "see: ", "none."}
	read := call("c1", "goals_list", `{"limit":5}`)
	change := call("c1", "goals_create", goalInput)
	what := []string{"ask What do we have?"}
	return []scenario{
		{name: "text", rounds: []llmtest.Round{said(words...)}, steps: what},
		{name: "slow", rounds: []llmtest.Round{said(words...)}, steps: what, waits: true},
		{name: "cut-at-once", rounds: []llmtest.Round{{Cut: llmtest.AtOnce}, said(words...)}, steps: what},
		{name: "cut-in-text", rounds: []llmtest.Round{{Text: words, Cut: llmtest.InText}, said("Again.")}, steps: []string{what[0], "ask And now?"}},
		{name: "cut-in-call", rounds: []llmtest.Round{{Text: words[:1], Calls: []conversation.ToolCall{change}, Cut: llmtest.InTheCall}, said("Again.")}, steps: []string{what[0], "ask And now?"}},
		{name: "tools", rounds: []llmtest.Round{called(call("c1", "find_tools", `{"query":"goals"}`)), {Text: words[:3], Calls: []conversation.ToolCall{call("c2", "goals_list", `{"limit":5}`), call("c3", "goals_list", `{"limit":6}`)}}, said("None.")}, steps: what},
		{name: "tool-errors", rounds: []llmtest.Round{called(call("c1", "goals_list", `{"limit":"many"}`), call("c2", "no_such_tool", `{}`)), said("That failed.")}, steps: what},
		{name: "busy-once", rounds: []llmtest.Round{{Status: 429}, said(words...)}, steps: what},
		{name: "broken-twice", rounds: []llmtest.Round{{Status: 500}, {Status: 503}, said(words...)}, steps: what},
		{name: "always-busy", rounds: []llmtest.Round{{Status: 429}}, steps: what},
		{name: "refused", rounds: []llmtest.Round{{Status: 400}}, steps: what},
		{name: "wrong-key", rounds: []llmtest.Round{{Status: 401}}, steps: what},
		{name: "error-in-stream", rounds: []llmtest.Round{{Text: words[:2], Break: true}, said("Again.")}, steps: []string{what[0], "ask And now?"}},
		{name: "broken-after-a-tool", rounds: []llmtest.Round{called(read), {Status: 500}}, steps: what},
		{name: "filtered", rounds: []llmtest.Round{{Text: words[:2], Short: conversation.ShortFiltered}}, steps: what},
		{name: "too-long", rounds: []llmtest.Round{{Text: words[:2], Calls: []conversation.ToolCall{change}, Short: conversation.ShortFull}}, steps: what},
		{name: "nonsense", rounds: []llmtest.Round{called(call("c1", "goals_create", `["no object"]`)), said("That failed.")}, steps: what},
		{name: "rejected", rounds: []llmtest.Round{called(change), said("Understood.")}, steps: []string{"ask Make a goal.", "reject not this one", "ask Why not?"}},
		{name: "destructive", rounds: []llmtest.Round{called(call("c1", "apps_update", `{"name":"Renamed"}`))}, steps: []string{"ask Rename it.", "approve yes"}},
		{name: "stuck", rounds: []llmtest.Round{called(read)}, steps: what},
		{name: "approved", rounds: []llmtest.Round{{Text: words[:1], Calls: []conversation.ToolCall{change}}, said("It is ", "done.")}, steps: []string{"ask Make a goal.", "approve yes"}},
		{name: "nothing", rounds: []llmtest.Round{{}}, steps: what},
		{name: "breaker", rounds: breaking(llmtest.Round{Text: words[:1], Cut: llmtest.InText}, 6), steps: slices.Repeat(what, 6)},
	}
}

// TestTranscripts runs the official libraries of the three families against scripted models, each with a complete
// server. It compares every frame that a client receives, the remaining states, messages and actions, and the counted
// tokens with the transcripts.
func TestTranscripts(t *testing.T) {
	for _, family := range conversation.AIProviders() {
		t.Run(string(family), func(t *testing.T) {
			model := llmtest.Serve(t, family, nil)
			s := startServer(t, t.TempDir(), map[string]string{
				"SVC_AI_PROVIDER": string(family), "SVC_AI_API_KEY": "sk-of-the-platform", "SVC_AI_BASE_URL": model.URL,
			})
			session := s.session()
			for _, scene := range scenarios() {
				t.Run(scene.name, func(t *testing.T) {
					golden(t, string(family)+"-"+scene.name, transcribe(t, s, session, model, &scene))
				})
			}
		})
	}
}

// golden compares a text with its committed file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "transcripts", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what happened:\n%s\nwant\n%s", file, got, want)
	}
}

// transcript records a client's view of a scenario.
type transcript struct {
	t    *testing.T
	s    *server
	out  strings.Builder
	held chan struct{}

	conversation, action string
}

func transcribe(t *testing.T, s *server, session string, model *llmtest.Server, scene *scenario) string {
	t.Helper()
	w := &transcript{t: t, s: s}
	list := slices.Clone(scene.rounds)
	if scene.waits {
		w.held = make(chan struct{})
		list[0].Wait = w.held
	}
	model.Play(rounds(list...))
	asked, before := len(model.Bodies()), spent(t, s, session)
	for _, step := range scene.steps {
		verb, words, _ := strings.Cut(step, " ")
		fmt.Fprintln(&w.out, step)
		switch verb {
		case "ask":
			body, _ := json.Marshal(map[string]string{"question": words, "conversationId": w.conversation}) // texts
			w.stream("POST", appPath+"/ai/ask", string(body))
		default:
			w.decide(verb, words)
		}
	}
	w.remains()
	after := spent(t, s, session)
	fmt.Fprintf(&w.out, "asked the model %d times; counted %.0f tokens in, %.0f out\n", len(model.Bodies())-asked, after[0]-before[0], after[1]-before[1])
	return w.plain()
}

// spent are the tokens of the organization's rounds, in and out.
func spent(t *testing.T, s *server, session string) [2]float64 {
	t.Helper()
	counted := object(t, s.console(t, session, "GET", "/orgs/acme/ai", "", 200))["spent"].(map[string]any)
	return [2]float64{counted["inputTokens"].(float64), counted["outputTokens"].(float64)}
}

// stream writes the frames of an answer unchanged.
func (w *transcript) stream(method, path, body string) {
	w.s.stream(method, path, w.s.boot.Token, body, nil, func(f frame) bool {
		if f.event == "start" {
			w.conversation = f.data["conversationId"].(string)
		}
		if f.event == "approval_required" {
			w.action = f.data["actions"].([]any)[0].(map[string]any)["id"].(string)
		}
		if f.event == "tools_loaded" { // the names grow with the table of routes
			f.data["names"] = fmt.Sprintf("%d names", len(f.data["names"].([]any)))
		}
		if f.data["name"] == "find_tools" && f.event == "tool_result" {
			f.data["result"] = fmt.Sprintf("%d names", len(f.data["result"].([]any)))
		}
		fmt.Fprintf(&w.out, "  %s %s %s\n", f.id, f.event, w.json(f.data))
		if f.event == "text" && w.held != nil {
			fmt.Fprintln(&w.out, "  (the model goes on)")
			close(w.held)
			w.held = nil
		}
		return false
	})
}

// decide approves or rejects the last action.
func (w *transcript) decide(verb, reason string) {
	path, body := appPath+"/ai/actions/"+w.action+"/"+verb, `{"reason":"`+reason+`"}`
	if verb == "approve" && w.s.get(appPath + "/ai/actions?limit=1")["data"].([]any)[0].(map[string]any)["effect"] == "write" {
		w.stream("POST", path, body)
		return
	}
	got := w.s.call("POST", path, w.s.boot.Token, []byte(body), nil)
	answer := object(w.t, got.body)
	delete(answer, "type") // the address of the documentation
	fmt.Fprintf(&w.out, "  %d %s\n", got.status, w.json(answer))
}

// remains writes the stored state of the conversation.
func (w *transcript) remains() {
	page := w.s.get(appPath + "/ai/conversations/" + w.conversation)
	fmt.Fprintf(&w.out, "the conversation is %v\n", page["state"])
	for _, message := range page["messages"].([]any) {
		message := message.(map[string]any)
		fmt.Fprintf(&w.out, "  %v %v: %v", message["turn"], message["role"], message["text"])
		for _, called := range message["calls"].([]any) {
			called := called.(map[string]any)
			fmt.Fprintf(&w.out, " [%v %v %s]", called["id"], called["name"], w.json(called["input"]))
		}
		for _, result := range message["results"].([]any) {
			result := result.(map[string]any)
			content, _, _ := strings.Cut(result["content"].(string), "\n")
			fmt.Fprintf(&w.out, " [%v %v ok=%v %s]", result["id"], result["name"], result["ok"], content)
		}
		fmt.Fprintln(&w.out)
	}
	for _, action := range page["actions"].([]any) {
		action := action.(map[string]any)
		fmt.Fprintf(&w.out, "  action %v %v %v reason=%v result=%s\n", action["id"], action["effect"], action["status"], action["reason"], w.json(action["result"]))
	}
}

func (w *transcript) json(value any) string {
	w.t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		w.t.Fatal(err)
	}
	return conversation.CanonicalJSON(encoded)
}

// changing are ids and times, which differ from run to run.
var changing = regexp.MustCompile(`\b(cnv|act|app|req|goal|usr)_[0-9A-Za-z]{10,}|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// plain returns the transcript with a name for every id, in the order of appearance.
func (w *transcript) plain() string {
	names, counts := map[string]string{}, map[string]int{}
	return changing.ReplaceAllStringFunc(w.out.String(), func(found string) string {
		kind, _, isID := strings.Cut(found, "_")
		if !isID {
			return "<time>"
		}
		if names[found] == "" {
			counts[kind]++
			names[found] = fmt.Sprintf("<%s %d>", kind, counts[kind])
		}
		return names[found]
	})
}
