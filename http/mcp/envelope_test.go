package mcp_test

import (
	"strings"
	"testing"
)

// TestEnvelopes sends messages that are invalid or odd by JSON-RPC 2.0. The answer has the code and the id that the
// specification requires. A valid id is returned unchanged.
func TestEnvelopes(t *testing.T) {
	w := newWorld(t)
	old := map[string]string{"Mcp-Protocol-Version": "2025-11-25"}
	batches := map[string]string{"Mcp-Protocol-Version": "2025-03-26"}
	call := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	tool := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"me_get"` + arguments + `}}`
	}
	for name, c := range map[string]struct {
		body   string
		header map[string]string
		status int
		holds  []string
	}{
		"L4: a number beyond 2^53":       {call("12345678901234567890"), old, 200, []string{`"id":12345678901234567890`, `"result":{}`}},
		"a negative one":                 {call("-9007199254740993"), old, 200, []string{`"id":-9007199254740993`}},
		"2^53 + 1":                       {call("9007199254740993"), old, 200, []string{`"id":9007199254740993`}},
		"zero":                           {call("0"), old, 200, []string{`"id":0`}},
		"an exponent":                    {call("1e3"), old, 200, []string{`"id":1e3`}},
		"a number of 400 digits":         {call(strings.Repeat("9", 400)), old, 200, []string{`"id":` + strings.Repeat("9", 400)}},
		"a text":                         {call(`"12345678901234567890"`), old, 200, []string{`"id":"12345678901234567890"`}},
		"an empty text":                  {call(`""`), old, 200, []string{`"id":""`}},
		"a large id of a failing call":   {`{"jsonrpc":"2.0","id":12345678901234567890,"method":"prompts/list"}`, old, 200, []string{`"id":12345678901234567890`, "-32601"}},
		"a large id of an unknown call":  {`{"jsonrpc":"2.0","id":12345678901234567890,"method":"no/such"}`, old, 400, []string{`"id":12345678901234567890`, "-32601"}},
		"large ids in a batch":           {"[" + call("12345678901234567890") + "," + call("7") + "]", batches, 200, []string{`"id":12345678901234567890`, `"id":7`}},
		"a fraction":                     {call("1.5"), old, 400, []string{`"id":null`, "-32600"}},
		"true":                           {call("true"), old, 400, []string{`"id":null`, "-32600"}},
		"null":                           {call("null"), old, 400, []string{`"id":null`, "-32600"}},
		"an object":                      {call("{}"), old, 400, []string{`"id":null`, "-32600"}},
		"no JSON":                        {`{"jsonrpc":"2.0","id":1,`, old, 400, []string{`"id":null`, "-32700"}},
		"two values":                     {call("1") + call("2"), old, 400, []string{`"id":null`, "-32700"}},
		"a number":                       {"7", old, 400, []string{`"id":null`, "-32600"}},
		"an empty batch":                 {"[]", batches, 400, []string{`"id":null`, "-32600"}},
		"a batch of numbers":             {"[1]", batches, 400, []string{`"id":null`, "-32600"}},
		"a batch where there are none":   {"[" + call("1") + "]", old, 400, []string{`"id":null`, "-32600"}},
		"another version":                {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, old, 400, []string{"-32600"}},
		"no version":                     {`{"id":1,"method":"ping"}`, old, 400, []string{"-32600"}},
		"a method that is a number":      {`{"jsonrpc":"2.0","id":4,"method":7}`, old, 400, []string{`"id":4`, "-32600"}},
		"an unknown method":              {`{"jsonrpc":"2.0","id":4,"method":"no/such"}`, old, 400, []string{`"id":4`, "-32601"}},
		"params that are a list":         {`{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}`, old, 400, []string{`"id":4`, "-32602"}},
		"params of a wrong form":         {`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":7}}`, old, 200, []string{`"id":4`, "-32602"}},
		"L2: arguments null":             {tool(`,"arguments":null`), old, 200, []string{`"isError":false`}},
		"no arguments":                   {tool(""), old, 200, []string{`"isError":false`}},
		"arguments that are a list":      {tool(`,"arguments":[]`), old, 200, []string{`"isError":true`, "must be an object"}},
		"L2: arguments null, by a tool":  {strings.Replace(tool(`,"arguments":{"tool":"me_get","arguments":null}`), `"me_get"`, `"call_read"`, 1), old, 200, []string{`"isError":false`}},
		"A1: more levels than are read":  {`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 500_000), old, 400, []string{`"id":null`, "-32600", "64 levels"}},
		"the text that stands for an id": {call(`"svc-number:1"`), old, 400, []string{"-32600"}},
	} {
		t.Run(name, func(t *testing.T) {
			response := w.send(t, message{body: c.body, token: w.Reader, header: c.header})
			body := response.Body.String()
			if !strings.Contains(body, `"isError"`) && strings.Contains(body, `"content"`) {
				body += `"isError":false` // The member is omitted.
			}
			for _, part := range c.holds {
				if response.Code != c.status || !strings.Contains(body, part) {
					t.Errorf("%d %s lacks %s", response.Code, response.Body, part)
				}
			}
		})
	}
}
