// Package llmtest serves scripted models on loopback in the wire formats of the three families, for
// tests of their clients.
package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"svc/domain/conversation"
)

// Round is a model's answer to one request.
type Round struct {
	Text  []string
	Calls []conversation.ToolCall
	// Status refuses the request with this status, if it is not zero.
	Status int
	// Cut ends the connection at this point; empty means never.
	Cut Place
	// Break sends an error after the text, like a provider that fails in the middle of an answer.
	Break bool
	// Short ends the answer before its end; its calls are then streamed in part.
	Short conversation.ShortAnswer
	// Wait delays the rest of the answer after its first text until it is closed.
	Wait <-chan struct{}
	// Pace is the time that the model waits before every further text.
	Pace time.Duration
}

// Place is a point within an answer.
type Place string

// The points: directly after the status, after the text, and in the middle of the first call.
const (
	AtOnce    Place = "at once"
	InText    Place = "in text"
	InTheCall Place = "in the call"
)

// The usage that every round reports: 100 tokens in, of which 40 were cached, 20 out.
const (
	inputTokens  = 100
	cachedTokens = 40
	outputTokens = 20
)

// Script answers the n-th request, counted from 0. It may read the request's body.
type Script func(n int, body []byte) Round

// Server is a scripted model.
type Server struct {
	URL string

	mu     sync.Mutex
	bodies [][]byte
	keys   []string
	from   int
	script Script
	write  func(*out, Round)
}

// Serve runs a scripted model of a family until the test ends.
func Serve(t testing.TB, family conversation.AIProvider, script Script) *Server {
	t.Helper()
	s := New(family, script)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// New returns a scripted model of a family without a listener.
func New(family conversation.AIProvider, script Script) *Server {
	write := map[conversation.AIProvider]func(*out, Round){
		conversation.ProviderOpenAI: writeOpenAI, conversation.ProviderAnthropic: writeAnthropic, conversation.ProviderGemini: writeGemini,
	}[family]
	return &Server{script: script, write: write}
}

// ServeHTTP answers a request by the script.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
	s.mu.Lock()
	n, script := len(s.bodies)-s.from, s.script
	s.bodies, s.keys = append(s.bodies, body), append(s.keys, key)
	s.mu.Unlock()
	round := script(n, body)
	if round.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(round.Status)
		fmt.Fprintf(w, `{"error":{"code":%d,"type":"scripted","message":"a text that nobody sees"}}`, round.Status)
		return
	}
	answer := &out{w: w, gone: r.Context().Done()}
	if round.Cut == AtOnce {
		answer.raw("")
		panic(http.ErrAbortHandler)
	}
	s.write(answer, round)
}

// Restart restarts the script with the next request.
func (s *Server) Restart() { s.Play(s.script) }

// Play switches to another script from the next request on.
func (s *Server) Play(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.from = script, len(s.bodies)
}

// Bodies returns the requests so far.
func (s *Server) Bodies() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte{}, s.bodies...)
}

// Keys returns the credentials of the requests so far.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.keys...)
}

// out writes an answer piece by piece.
type out struct {
	w    http.ResponseWriter
	gone <-chan struct{}
}

func (o *out) raw(text string) {
	_, _ = io.WriteString(o.w, text) // A client that has disconnected needs no answer.
	_ = http.NewResponseController(o.w).Flush()
}

func (o *out) event(name string, data any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(err) // The values are maps of texts and numbers.
	}
	if name != "" {
		o.raw("event: " + name + "\n")
	}
	o.raw("data: " + string(encoded) + "\n\n")
}

// texts writes the fragments of a round, and reports whether the answer continues.
func (o *out) texts(round Round, write func(string)) bool {
	for i, fragment := range round.Text {
		if i > 0 && round.Pace > 0 {
			select {
			case <-time.After(round.Pace):
			case <-o.gone:
				return false
			}
		}
		write(fragment)
		if i == 0 && round.Wait != nil {
			select {
			case <-round.Wait:
			case <-o.gone:
				return false
			}
		}
	}
	if round.Cut == InText {
		panic(http.ErrAbortHandler)
	}
	return true
}

// halves writes the input of a call in two parts; a script may cut it between them.
func halves(round *Round, call *conversation.ToolCall, write func(part string)) {
	half := len(call.Input) / 2
	write(string(call.Input[:half]))
	if round.Cut == InTheCall {
		panic(http.ErrAbortHandler)
	}
	if round.Short != "" {
		return
	}
	write(string(call.Input[half:]))
}

type object = map[string]any

func writeOpenAI(o *out, round Round) {
	o.w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta object, finish any) {
		o.event("", object{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	o.raw(": a comment, as some services send it to keep the connection\n\n")
	if !o.texts(round, func(text string) { chunk(object{"content": text}, nil) }) {
		return
	}
	if round.Break {
		o.event("", object{"error": object{"type": "server_error", "message": "a text that nobody sees"}})
		return
	}
	finish := "stop"
	for i, call := range round.Calls {
		finish = "tool_calls"
		chunk(object{"tool_calls": []any{object{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": ""}}}}, nil)
		halves(&round, &call, func(part string) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": part}}}}, nil)
		})
	}
	switch round.Short {
	case conversation.ShortFiltered:
		finish = "content_filter"
	case conversation.ShortFull:
		finish = "length"
	}
	chunk(object{}, finish)
	o.event("", object{
		"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": []any{},
		"usage": object{"prompt_tokens": inputTokens, "completion_tokens": outputTokens, "total_tokens": inputTokens + outputTokens, "prompt_tokens_details": object{"cached_tokens": cachedTokens}},
	})
	o.raw("data: [DONE]\n\n")
}

func writeAnthropic(o *out, round Round) {
	o.w.Header().Set("Content-Type", "text/event-stream")
	o.event("message_start", object{"type": "message_start", "message": object{
		"id": "m1", "type": "message", "role": "assistant", "model": "scripted", "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": inputTokens - cachedTokens, "cache_read_input_tokens": cachedTokens, "cache_creation_input_tokens": 0, "output_tokens": 1},
	}})
	o.event("ping", object{"type": "ping"})
	index := 0
	if len(round.Text) > 0 {
		o.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": object{"type": "text", "text": ""}})
		if !o.texts(round, func(text string) {
			o.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": object{"type": "text_delta", "text": text}})
		}) {
			return
		}
		o.event("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	if round.Break {
		o.event("error", object{"type": "error", "error": object{"type": "overloaded_error", "message": "a text that nobody sees"}})
		return
	}
	stop := "end_turn"
	for _, call := range round.Calls {
		stop = "tool_use"
		o.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": object{}}})
		halves(&round, &call, func(part string) {
			o.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": object{"type": "input_json_delta", "partial_json": part}})
		})
		o.event("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	switch round.Short {
	case conversation.ShortFiltered:
		stop = "refusal"
	case conversation.ShortFull:
		stop = "max_tokens"
	}
	o.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": outputTokens}})
	o.event("message_stop", object{"type": "message_stop"})
}

// writeGemini writes one JSON array, an element at a time.
func writeGemini(o *out, round Round) {
	o.w.Header().Set("Content-Type", "application/json")
	separator := "["
	element := func(part object, finish string) {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": []any{part}}}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		encoded, err := json.Marshal(object{
			"candidates":    []any{candidate},
			"usageMetadata": object{"promptTokenCount": inputTokens, "cachedContentTokenCount": cachedTokens, "candidatesTokenCount": outputTokens, "totalTokenCount": inputTokens + outputTokens},
		})
		if err != nil {
			panic(err) // The values are maps of texts and numbers.
		}
		o.raw(separator + string(encoded))
		separator = ",\r\n"
	}
	if !o.texts(round, func(text string) { element(object{"text": text}, "") }) {
		return
	}
	if round.Break {
		o.raw(separator + `{"error":{"code":503,"status":"UNAVAILABLE","message":"a text that nobody sees"}}]`)
		return
	}
	for _, call := range round.Calls {
		if round.Cut == InTheCall {
			o.raw(separator + `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{"name":"` + call.Name)
			panic(http.ErrAbortHandler)
		}
		element(object{"functionCall": object{"name": call.Name, "args": call.Input}}, "")
	}
	finish := "STOP"
	switch round.Short {
	case conversation.ShortFiltered:
		finish = "SAFETY"
	case conversation.ShortFull:
		finish = "MAX_TOKENS"
	}
	element(object{"text": ""}, finish)
	o.raw("]")
}
