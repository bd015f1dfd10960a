package outbound

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/alert"
)

var update = flag.Bool("update", false, "rewrite golden files")

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// notice is the notice of a rule that has fired or recovered.
func notice(event alert.NoticeEvent) alert.Delivery {
	value := 3.5
	incident := alert.Incident{
		ID: "inc_1", RuleID: "rul_1", RuleName: "Latency <p95>", Kind: alert.Metric, Severity: "critical", Status: alert.IncidentOpen, Environment: "production",
		Title: "Latency <p95> — 3.5 > 2", Value: &value, Threshold: 2, Comparator: "gt", StartedAt: noon().Add(-time.Minute), LastTriggeredAt: noon(), Metric: "latency",
		Labels: map[string]string{"route": "/"}, Occurrences: 7,
	}
	if event == alert.NoticeResolved {
		ended := noon()
		incident.Status, incident.ResolvedAt = alert.IncidentResolved, &ended
	}
	return alert.Delivery{ID: "dlv_1", ChannelID: "chn_1", Attempts: 2, Notice: alert.Notice{Event: event, App: domain.AppRef{Org: "acme", App: "web"}, Incident: incident}}
}

// TestWhatChannelsRead checks the requests to webhooks and chats.
func TestWhatChannelsRead(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var value any
		if err != nil || json.Unmarshal(body, &value) != nil {
			t.Errorf("no JSON: %s, %v", body, err)
		}
		shown, _ := json.MarshalIndent(value, "", "  ")
		fmt.Fprintf(&got, "%s %s\n", r.Method, r.URL.Path)
		for _, name := range []string{"Content-Type", "User-Agent", "X-Svc-Attempt", "X-Svc-Delivery", "X-Svc-Signature"} {
			fmt.Fprintf(&got, "%s: %s\n", name, r.Header.Get(name))
		}
		fmt.Fprintf(&got, "\n%s\n\n", shown)
	}))
	t.Cleanup(server.Close)
	n := NewNotifier(loopback(t), Mail{}, "https://svc.example", noon)
	for _, kind := range []alert.ChannelKind{alert.ChannelWebhook, alert.ChannelSlack} {
		for _, event := range []alert.NoticeEvent{alert.NoticeOpen, alert.NoticeResolved} {
			target := alert.ChannelTarget{URL: server.URL + "/" + string(kind), Secret: "whsec_1"}
			if retry, err := n.Send(t.Context(), kind, target, notice(event)); retry || err != nil {
				t.Errorf("%s %s: %t, %v", kind, event, retry, err)
			}
		}
	}
	path := filepath.Join("testdata", "notices.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got.String() != string(want) {
		t.Errorf("%v; got\n%s", err, got.String())
	}
}

// TestNobodyIsCalledByATitle checks that every text for a chat is plain: a client that chooses the name of an error
// cannot mention a channel or a person, or insert a link.
func TestNobodyIsCalledByATitle(t *testing.T) {
	t.Parallel()
	delivery := notice(alert.NoticeOpen)
	delivery.Notice.Incident.Title, delivery.Notice.Incident.Environment = "<!channel> <@U1> <https://evil.example|here> & more", "<!here>"
	n := NewNotifier(loopback(t), Mail{}, "https://svc.example", noon)
	body, err := json.Marshal(n.chat(&delivery.Notice))
	if err != nil {
		t.Fatal(err)
	}
	var texts struct {
		Text   string
		Blocks []struct{ Text struct{ Text string } }
	}
	if err := json.Unmarshal(body, &texts); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{texts.Text, texts.Blocks[0].Text.Text} {
		for _, markup := range []string{"<!", "<@", "<https://evil"} {
			if strings.Contains(text, markup) || !strings.Contains(text, "&lt;!channel&gt;") {
				t.Errorf("%s is read as markup: %s", markup, text)
			}
		}
	}
}

func TestWhichAnswersAreTriedAgain(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		if status == http.StatusFound {
			w.Header().Set("Location", "/200")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	n := NewNotifier(loopback(t), Mail{}, "https://svc.example", noon)
	for _, test := range []struct {
		url       string
		ok, retry bool
	}{
		{server.URL + "/200", true, false},
		{server.URL + "/204", true, false},
		{server.URL + "/302", false, false},
		{server.URL + "/400", false, false},
		{server.URL + "/404", false, false},
		{server.URL + "/408", false, true},
		{server.URL + "/429", false, true},
		{server.URL + "/500", false, true},
		{server.URL + "/503", false, true},
		{gone.URL + "/secret-path", false, true},
		{"http://10.0.0.1/secret-path", false, false},
		{"http://inside.example/secret-path", false, false},
	} {
		retry, err := n.Send(t.Context(), alert.ChannelSlack, alert.ChannelTarget{URL: test.url}, notice(alert.NoticeOpen))
		if (err == nil) != test.ok || retry != test.retry {
			t.Errorf("%s: retry %t, %v", test.url, retry, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-path") {
			t.Errorf("the error shows where the channel leads: %v", err)
		}
	}
	if retry, err := n.Send(t.Context(), alert.ChannelEmail, alert.ChannelTarget{To: []string{"a@b.example"}}, notice(alert.NoticeOpen)); retry || err == nil {
		t.Errorf("e-mail without a server: %t, %v", retry, err)
	}
}

// postOffice is a mail server with a few commands.
func postOffice(t *testing.T) (address string, letter chan string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	letter = make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		lines, heard := bufio.NewScanner(conn), ""
		fmt.Fprint(conn, "220 ready\r\n")
		for body := false; lines.Scan(); {
			heard += lines.Text() + "\n"
			switch word := lines.Text(); {
			case body && word == ".":
				body = false
				fmt.Fprint(conn, "250 taken\r\n")
			case body:
			case word == "DATA":
				body = true
				fmt.Fprint(conn, "354 go on\r\n")
			case word == "QUIT":
				fmt.Fprint(conn, "221 bye\r\n")
				letter <- heard
				return
			default:
				fmt.Fprint(conn, "250 fine\r\n")
			}
		}
	}()
	return listener.Addr().String(), letter
}

// TestErrorsOfChannelsKeepSecrets checks that the text of a failed connection contains neither the called address,
// which may contain a token, nor our resolver's address.
func TestErrorsOfChannelsKeepSecrets(t *testing.T) {
	lost := &net.DNSError{Err: "no such host", Name: "hooks.example", Server: "10.0.0.53:53", IsNotFound: true}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&url.Error{Op: "Post", URL: "https://hooks.example/T0/secret", Err: &net.OpError{Op: "dial", Net: "tcp", Err: lost}}, "lookup hooks.example: no such host"},
		{&url.Error{Op: "Post", URL: "https://hooks.example/T0/secret", Err: io.ErrUnexpectedEOF}, "unexpected EOF"},
	} {
		if got := Plain(test.err).Error(); got != test.want {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}

func TestEmail(t *testing.T) {
	t.Parallel()
	address, letter := postOffice(t)
	n := NewNotifier(loopback(t), Mail{Server: domain.Secret("smtp://" + address), From: "svc@acme.example", Now: noon}, "https://svc.example", noon)
	d := notice(alert.NoticeOpen)
	d.Notice.Incident.Title += "\r\nBcc: everybody@acme.example"
	if retry, err := n.Send(t.Context(), alert.ChannelEmail, alert.ChannelTarget{To: []string{"ops@acme.example", "dev@acme.example"}}, d); retry || err != nil {
		t.Fatalf("%t, %v", retry, err)
	}
	heard := <-letter
	head, body, _ := strings.Cut(heard, "\n\n")
	for _, part := range []string{"MAIL FROM:<svc@acme.example>", "RCPT TO:<ops@acme.example>\nRCPT TO:<dev@acme.example>", "To: ops@acme.example, dev@acme.example", "Message-ID: <dlv_1@acme.example>\n", "Subject: =?utf-8?q?[CRITICAL]_Latency_<p95>_=E2=80=94_3.5_>_2"} {
		if !strings.Contains(head, part) {
			t.Errorf("%q is missing in\n%s", part, head)
		}
	}
	if strings.Contains(head, "\nBcc:") {
		t.Errorf("a title makes a header:\n%s", head)
	}
	encoded, _, _ := strings.Cut(body, "\n.")
	text, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(encoded, "\n", ""))
	if err != nil || !strings.Contains(string(text), "Incident     inc_1") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestMailServers(t *testing.T) {
	t.Parallel()
	for server, good := range map[string]bool{
		"smtp://mail.example": true, "smtps://user:pass@mail.example:465": true, "http://mail.example": false, "mail.example:25": false, "smtp://": false,
	} {
		if err := CheckServer(server); (err == nil) != good {
			t.Errorf("%s: %v", server, err)
		}
	}
}
