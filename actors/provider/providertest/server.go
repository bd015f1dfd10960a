// Package providertest serves scripted models on loopback in the wire formats of the
// three families, so that the official libraries can be run against them.
package providertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"svc"
)

// Round is what a model answers to one request.
type Round struct {
	Text  []string
	Calls []svc.ToolCall
	// Status refuses the request where it is not zero.
	Status int
	// Cut ends the connection behind the text, in the middle of the answer.
	Cut bool
	// Wait holds the answer back behind its first text until it is closed.
	Wait <-chan struct{}
}

// The usage that every round reports: 100 tokens in, of which 40 were cached, 20 out.
const (
	inputTokens  = 100
	cachedTokens = 40
	outputTokens = 20
)

// Script answers the n-th request, counted from 0, whose body it may look at.
type Script func(n int, body []byte) Round

// Server is a scripted model.
type Server struct {
	URL string

	mu     sync.Mutex
	bodies [][]byte
	keys   []string
	from   int
	script Script
}

// Serve runs a scripted model of a family until the test ends.
func Serve(t testing.TB, family svc.AIProvider, script Script) *Server {
	t.Helper()
	s := &Server{script: script}
	write := map[svc.AIProvider]func(*out, Round){
		svc.ProviderOpenAI: writeOpenAI, svc.ProviderAnthropic: writeAnthropic, svc.ProviderGemini: writeGemini,
	}[family]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
		s.mu.Lock()
		n := len(s.bodies) - s.from
		s.bodies, s.keys = append(s.bodies, body), append(s.keys, key)
		s.mu.Unlock()
		round := s.script(n, body)
		if round.Status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(round.Status)
			fmt.Fprintf(w, `{"error":{"code":%d,"type":"scripted","message":"a text that nobody sees"}}`, round.Status)
			return
		}
		write(&out{w: w, gone: r.Context().Done()}, round)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Restart has the script begin anew with the next request.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = len(s.bodies)
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
	_, _ = io.WriteString(o.w, text) // a library that has gone needs nothing
	_ = http.NewResponseController(o.w).Flush()
}

func (o *out) event(name string, data any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(err) // maps of texts and numbers
	}
	if name != "" {
		o.raw("event: " + name + "\n")
	}
	o.raw("data: " + string(encoded) + "\n\n")
}

// texts writes the fragments of a round; it says whether the answer goes on.
func (o *out) texts(round Round, write func(string)) bool {
	for i, fragment := range round.Text {
		write(fragment)
		if i == 0 && round.Wait != nil {
			select {
			case <-round.Wait:
			case <-o.gone:
				return false
			}
		}
	}
	if round.Cut {
		panic(http.ErrAbortHandler)
	}
	return true
}

type object = map[string]any

func writeOpenAI(o *out, round Round) {
	o.w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta object, finish any) {
		o.event("", object{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if !o.texts(round, func(text string) { chunk(object{"content": text}, nil) }) {
		return
	}
	finish := "stop"
	for i, call := range round.Calls {
		finish = "tool_calls"
		half := len(call.Input) / 2
		chunk(object{"tool_calls": []any{object{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": ""}}}}, nil)
		chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": string(call.Input[:half])}}}}, nil)
		chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": string(call.Input[half:])}}}}, nil)
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
	stop := "end_turn"
	for _, call := range round.Calls {
		stop = "tool_use"
		half := len(call.Input) / 2
		o.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": object{}}})
		for _, part := range []string{string(call.Input[:half]), string(call.Input[half:])} {
			o.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": object{"type": "input_json_delta", "partial_json": part}})
		}
		o.event("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
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
			panic(err) // maps of texts and numbers
		}
		o.raw(separator + string(encoded))
		separator = ",\r\n"
	}
	if !o.texts(round, func(text string) { element(object{"text": text}, "") }) {
		return
	}
	for _, call := range round.Calls {
		element(object{"functionCall": object{"name": call.Name, "args": call.Input}}, "")
	}
	element(object{"text": ""}, "STOP")
	o.raw("]")
}
