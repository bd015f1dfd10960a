package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"time"
)

// The members of this file talk to the assistant, each in one conversation, and ask through two nodes at the same time.
// The harness is the model of all nodes: it answers slowly, and detects whether a conversation asks it twice at a time.

const (
	// talkers is the number of members that talk, questionsEach the number of questions of each, because a member may
	// ask 30 questions per hour.
	talkers       = 4
	questionsEach = 28
	// speakTime is how long the model takes for an answer.
	speakTime = 600 * time.Millisecond
)

// model answers the assistant of all nodes.
type model struct {
	server *httptest.Server
	mu     sync.Mutex
	// open counts the open answers of each conversation, asked all of them; clashes are the conversations with two at a
	// time.
	open    map[string]int
	asked   int
	clashes []string
}

// conversationOf finds in a request the name with which a talker begins each question.
var conversationOf = regexp.MustCompile(`talk\d+`)

func newModel() *model {
	m := &model{open: map[string]int{}}
	m.server = httptest.NewServer(m)
	return m
}

// settings are the settings with which a node uses the model.
func (m *model) settings() []string {
	return []string{"SVC_AI_PROVIDER=openai", "SVC_AI_API_KEY=scripted", "SVC_AI_BASE_URL=" + m.server.URL}
}

// ServeHTTP answers a round.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	name := string(conversationOf.Find(body))
	m.enter(name)
	defer m.leave(name)
	w.Header().Set("Content-Type", "text/event-stream")
	const chunk = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"s","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}` + "\n\n"
	fmt.Fprintf(w, chunk, `{"content":"Well. "}`, "null")
	_ = http.NewResponseController(w).Flush() // fails with the connection, as everything after it does
	time.Sleep(speakTime)
	fmt.Fprintf(w, chunk+"data: [DONE]\n\n", "{}", `"stop"`)
}

func (m *model) enter(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if m.open[name]++; m.open[name] > 1 {
		m.clashes = append(m.clashes, name)
	}
}

func (m *model) leave(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[name]--
}

// startTalks lets members talk until ctx ends.
func (l *load) startTalks(ctx context.Context, random *rand.Rand) error {
	for n := range talkers {
		token, err := l.nodes.all[0].NewMember(ctx, fmt.Sprintf("talker%d@acme.example", n))
		if err != nil {
			return err
		}
		own := rand.New(rand.NewPCG(random.Uint64(), 3))
		l.wg.Go(func() { l.talk(ctx, fmt.Sprintf("talk%d", n), token, own) })
	}
	return nil
}

// talk asks repeatedly in one conversation.
func (l *load) talk(ctx context.Context, name, token string, random *rand.Rand) {
	conversation := ""
	for asked := 0; asked < questionsEach && ctx.Err() == nil; {
		racers := min(2, questionsEach-asked)
		if conversation == "" {
			racers = 1
		}
		asked += racers
		var racing sync.WaitGroup
		for range racers {
			at, continued := l.any(random), conversation
			racing.Go(func() {
				if began := l.ask(ctx, at, name, continued, token); continued == "" {
					conversation = began
				}
			})
		}
		racing.Wait()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(1000+random.IntN(2000)) * time.Millisecond):
		}
	}
}

// ask asks one question and returns the conversation in which it was answered.
func (l *load) ask(ctx context.Context, at *node, name, conversation, token string) string {
	question := map[string]string{"question": name + ": speak."}
	if conversation != "" {
		question["conversationId"] = conversation
	}
	body, err := json.Marshal(question)
	if err != nil {
		l.problem("asking: %v", err)
		return ""
	}
	status, answer := l.call(ctx, at, http.MethodPost, "/apps/acme/web/ai/ask", token, body, http.StatusConflict, http.StatusTooManyRequests)
	if status != http.StatusOK {
		return ""
	}
	var start struct {
		ConversationID string `json:"conversationId"`
	}
	for lines := bufio.NewScanner(bytes.NewReader(answer)); lines.Scan(); {
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is && json.Unmarshal([]byte(data), &start) == nil && start.ConversationID != "" {
			break
		}
	}
	return start.ConversationID
}

// checkTalks checks that no conversation ever had two turns at a time.
func (l *load) checkTalks() {
	l.model.mu.Lock()
	defer l.model.mu.Unlock()
	if l.model.asked == 0 {
		l.problem("nobody talked")
	}
	for _, name := range l.model.clashes {
		l.problem("the conversation of %s had two turns at a time", name)
	}
}
