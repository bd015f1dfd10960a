package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/bench/harness"
)

// scripted is the model: it answers every request with fragments that hold the instant
// of their sending.
type scripted struct {
	url    string
	server *http.Server
}

func (s *scripted) close() { _ = s.server.Close() }

// fragments is how many a turn has that is sent without a pace.
const fragments = 5000

func serveModel(ctx context.Context, o options) (*scripted, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the model: %w", err)
	}
	count, gap := fragments, time.Duration(0)
	if o.rate > 0 {
		count, gap = o.rate*o.seconds, time.Second/time.Duration(o.rate)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // whatever is asked
		w.Header().Set("Content-Type", "text/event-stream")
		flusher := http.NewResponseController(w)
		next := time.Now()
		for range count {
			fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"s","choices":[{"index":0,"delta":{"content":"%d "},"finish_reason":null}]}`+"\n\n", time.Now().UnixNano())
			if flusher.Flush() != nil {
				return
			}
			if gap > 0 {
				next = next.Add(gap)
				time.Sleep(time.Until(next))
			}
		}
		fmt.Fprint(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"s","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	return &scripted{url: "http://" + listener.Addr().String(), server: server}, nil
}

// members seats people, each of whom may ask 30 questions an hour, and returns their
// tokens.
func members(ctx context.Context, server *harness.Server, count int) (tokens []string, err error) {
	for n := range count {
		email := fmt.Sprintf("bench%d@acme.example", n)
		if _, err := operate(ctx, server, "members.put", map[string]any{"org": "acme", "email": email, "name": "Bench", "role": "member"}); err != nil {
			return nil, err
		}
		minted, err := operate(ctx, server, "tokens.mint", map[string]any{"email": email, "name": "bench", "scopes": []string{"read", "write"}})
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, minted.Secret)
	}
	return tokens, nil
}

type minted struct {
	Secret string `json:"secret"`
}

func operate(ctx context.Context, server *harness.Server, command string, body any) (answer minted, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return answer, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+server.Admin+"/admin/v1/"+command, bytes.NewReader(encoded))
	if err != nil {
		return answer, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		return answer, fmt.Errorf("%s: %w", command, err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(response.Body) // the status says enough
		return answer, fmt.Errorf("%s: %d %s", command, response.StatusCode, text)
	}
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

// listener follows one turn.
type listener struct {
	frames       uint64
	added, first harness.Latency
	err          error
}

// listen asks and reads until the turn is done.
func (l *listener) listen(ctx context.Context, client *http.Client, server *harness.Server, token string) error {
	url := "http://" + server.Address + "/api/v1/apps/" + server.Organization + "/" + server.App + "/ai/ask"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"question":"Speak."}`))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	asked := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking: %d", response.StatusCode)
	}
	lines := bufio.NewReader(response.Body)
	event := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return errors.New("the stream ended before its turn")
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case name == "event":
			event = value
		case name == "data" && event == "error":
			return errors.New(value)
		case name == "data" && event == "done":
			return nil
		case name == "data" && event == "start":
			l.first.Record(time.Since(asked))
		case name == "data" && event == "text":
			l.count(value)
		}
	}
}

// count records a fragment by the instant that it holds.
func (l *listener) count(data string) {
	var frame struct{ Text string }
	if json.Unmarshal([]byte(data), &frame) != nil {
		return
	}
	sent, err := strconv.ParseInt(strings.TrimSpace(frame.Text), 10, 64)
	if err != nil {
		return
	}
	l.frames++
	l.added.Record(time.Since(time.Unix(0, sent)))
}
