package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/domain"
	"svc/http/mcp"
)

// bridged runs a bridge over lines and returns the replies by id.
func bridged(t *testing.T, url string, token domain.Secret, lines ...string) map[string]reply {
	t.Helper()
	var out bytes.Buffer
	bridge := &mcp.Bridge{URL: url, Token: token, Client: http.DefaultClient}
	if err := bridge.Run(t.Context(), strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	replies := map[string]reply{}
	scanner := bufio.NewScanner(&out)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var one reply
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			t.Fatalf("%s: %v", scanner.Text(), err)
		}
		replies[string(mustJSON(t, one.ID))] = one
	}
	return replies
}

func TestTheBridgeCarriesMessages(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	replies := bridged(t, server.URL+"/mcp", w.Reader,
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`, "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"no/such"}`, modern("tools/call", "me_get", `"name":"me_get","arguments":{}`).body,
		`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"x":"`+strings.Repeat("x", 1<<20)+`"}}`)
	if len(replies) != 4 || replies[`"a"`].Error != nil || replies["1"].Result["resultType"] != "complete" {
		t.Errorf("the replies are %+v", replies)
	}
	if refused := replies["2"].Error; refused == nil || refused.Code != -32601 || !strings.Contains(refused.Message, "no/such") {
		t.Errorf("an unknown method: %+v", refused)
	}
	if refused := replies["4"].Error; refused == nil || !strings.HasSuffix(refused.Message, "(413)") {
		t.Errorf("too much: %+v", refused)
	}
}

// TestTheBridgeAnswersWhatIsNoMessage carries invalid lines, and ids that a float64 cannot represent, one at a time.
func TestTheBridgeAnswersWhatIsNoMessage(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	for line, want := range map[string]string{
		`{"jsonrpc":`: `"id":null`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`: `-32600`,
		`[]`: `-32600`,
		`{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`: `"id":12345678901234567890`,
		`{"jsonrpc":"2.0","id":12345678901234567890,"method":"no/x"}`: `"id":12345678901234567890`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:      ``,
	} {
		var out bytes.Buffer
		bridge := &mcp.Bridge{URL: server.URL + "/mcp", Token: w.Reader, Client: http.DefaultClient}
		if err := bridge.Run(t.Context(), strings.NewReader(line+"\n"), &out); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, want) || want == "" && got != "" || strings.Count(got, "\n") > 1 {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestTheBridgeTellsWhyNothingIsDelivered(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.handler)
	for name, c := range map[string]struct {
		token domain.Secret
		holds string
		close bool
	}{
		"a wrong token": {"svc_pat_wrong", "The token is unknown, revoked or expired. (401)", false},
		"no server":     {w.Reader, "The server cannot be reached", true},
	} {
		if c.close {
			server.Close()
		}
		replies := bridged(t, server.URL+"/mcp", c.token, ping, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		if len(replies) != 1 || replies["1"].Error == nil || !strings.Contains(replies["1"].Error.Message, c.holds) {
			t.Errorf("%s: %+v", name, replies)
		}
		if c.close {
			break
		}
	}
}

// TestTheBridgeCancels cancels a request that the server never answers.
func TestTheBridgeCancels(t *testing.T) {
	arrived := make(chan struct{})
	gone := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
		gone <- r.Context().Err()
	}))
	t.Cleanup(server.Close)
	in, feed := io.Pipe()
	var out bytes.Buffer
	ended := make(chan error, 1)
	bridge := &mcp.Bridge{URL: server.URL, Token: "svc_pat_x", Client: http.DefaultClient}
	go func() { ended <- bridge.Run(t.Context(), in, &out) }()
	_, err := io.WriteString(feed, ping+"\n")
	<-arrived
	_, cancelled := io.WriteString(feed, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
	if err := errors.Join(err, cancelled, feed.Close(), <-ended); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("%v %s", err, out.String())
	}
}
