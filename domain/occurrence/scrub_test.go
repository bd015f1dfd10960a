package occurrence

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

func TestScrubText(t *testing.T) {
	for text, want := range map[string]string{
		"card 4111 1111 1111 1111 refused":                 "card [scrubbed] refused",
		"card 4111-1111-1111-1111, 5500000000000004":       "card [scrubbed], [scrubbed]",
		"order 4111111111111112 has no check digit":        "order 4111111111111112 has no check digit",
		"at 1763640000250, trace 4111111111111111abcdef":   "at 1763640000250, trace 4111111111111111abcdef",
		"https://a.example/x?token=abc&page=2&api_key=k#f": "https://a.example/x?token=[scrubbed]&page=2&api_key=[scrubbed]#f",
		"postgres://ann:hunter2@db.example/shop":           "postgres://[scrubbed]@db.example/shop",
		"Authorization Bearer abcdef123456.x":              "Authorization Bearer [scrubbed]",
		"password=hunter2 for ann":                         "password=[scrubbed] for ann",
		"a basic idea, bearer of news":                     "a basic idea, bearer of news",
		"":                                                 "",
	} {
		if got := scrubText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestScrubOccurrence(t *testing.T) {
	o := &Occurrence{
		Message: "x", Tags: map[string]string{"api-key": "k", "plan": "pro"}, Extra: json.RawMessage(`{"a":{"Password":"p","n":1},"tokens":3,"card":4111111111111111}`),
		Frames: []Frame{{Vars: json.RawMessage(`{"secret":"s","amount":"-3"}`), Code: &FrameCode{Line: `pay("4111111111111111")`}}},
	}
	o.Details = Details{
		Headers: map[string]string{"Cookie": "a=b", "X-CSRF-Token": "t", "Accept": "*/*"}, Data: json.RawMessage(`"user=ann&password=p"`), User: map[string]string{"session_id": "s", "plan": "pro"},
		Query: "page=1&access_token=x",
	}
	o.Scrub()
	if string(o.Extra) != `{"a":{"Password":"[scrubbed]","n":1},"card":"[scrubbed]","tokens":3}` || string(o.Frames[0].Vars) != `{"amount":"-3","secret":"[scrubbed]"}` ||
		o.Frames[0].Code.Line != `pay("[scrubbed]")` || string(o.Details.Data) != `"user=ann&password=[scrubbed]"` || o.Details.Query != "page=1&access_token=[scrubbed]" {
		t.Errorf("%s, %s, %+v, %s, %s", o.Extra, o.Frames[0].Vars, o.Frames[0].Code, o.Details.Data, o.Details.Query)
	}
	for _, c := range []struct{ got, want map[string]string }{
		{o.Tags, map[string]string{"api-key": "[scrubbed]", "plan": "pro"}},
		{o.Details.Headers, map[string]string{"Cookie": "[scrubbed]", "X-CSRF-Token": "[scrubbed]", "Accept": "*/*"}},
		{o.Details.User, map[string]string{"session_id": "[scrubbed]", "plan": "pro"}},
	} {
		if !maps.Equal(c.got, c.want) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

func TestSourceAndVariablesAreBounded(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	vars, err := json.Marshal(map[string]string{"a": long, "b": "short"})
	if err != nil {
		t.Fatal(err)
	}
	o := &Occurrence{}
	for range 90 {
		o.Frames = append(o.Frames, Frame{File: "a.py", Code: &FrameCode{Before: []string{long, long, long, long, long, long, long}, Line: long, After: []string{long}}, Vars: vars})
	}
	o.Normalise()
	total := 0
	for _, frame := range o.Frames {
		if frame.Code != nil {
			total += len(frame.Vars) + len(frame.Code.Line)
			for _, line := range append(frame.Code.Before, frame.Code.After...) {
				total += len(line)
			}
		}
	}
	if first := o.Frames[0]; first.Code == nil || len(first.Code.Before) != MaxCodeLines || len(first.Code.Line) != MaxCodeLine || total > MaxSurrounded || total < MaxSurrounded/2 {
		t.Errorf("%d bytes around, the first frame has %+v", total, first.Code)
	}
}
