package ingest

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/http/admission"
)

// slowBodies opens connections from an address. Each connection sends the beginning of a body and no more. slowBodies
// returns how many stayed open and how many were refused.
func slowBodies(t *testing.T, server *httptest.Server, from, path, key string, sent int) (open, refused int) {
	t.Helper()
	const connections = 600
	answers := make(chan string, connections)
	begun := make(chan struct{}, connections)
	for range connections {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			header := "POST " + path + " HTTP/1.1\r\nHost: svc\r\nContent-Length: 1000000\r\nContent-Type: application/json\r\n"
			if key != "" {
				header += "Authorization: Bearer " + key + "\r\n"
			}
			_, _ = conn.Write([]byte(header + "\r\n" + `{"items":[{"name":"` + strings.Repeat("x", sent)))
			begun <- struct{}{} // A refused connection may be closed already.
			line, _ := bufio.NewReader(conn).ReadString('\n')
			answers <- line
		}()
	}
	for range connections {
		<-begun
	}
	for {
		select {
		case line := <-answers:
			if refused++; !strings.Contains(line, "503") {
				t.Fatalf("a slow body was answered %q", line)
			}
		case <-time.After(300 * time.Millisecond):
			return connections - refused, refused
		}
	}
}

// TestSlowBodies opens 600 bodies from one address. These bodies never arrive. Meanwhile other addresses and the
// servers of the same application are served. Clients that send the key in the body are served too.
func TestSlowBodies(t *testing.T) {
	for _, c := range []struct {
		name, path, key string
		sent            int
		all             bool // No slow connection is refused.
	}{
		{"F4: a few bytes of each", "/api/v1/batch", "key0", 1, true},
		{"32 KiB of each", "/api/v1/batch", "key0", 32 << 10, false},
		{"without a key", "/api/v1/batch", "", 32 << 10, false},
		{"PostHog", "/batch/", "", 32 << 10, false},
		{"metrics", "/v1/metrics", "key0", 32 << 10, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			handler, collectors := admittingWith(t, discard{}, admission.New(256<<20), 1)
			secret := *collectors[domain.HashSecret("key0")]
			secret.Kind, secret.KeyID = domain.KeySecret, "secret"
			collectors[domain.HashSecret("secret")] = &secret
			server := httptest.NewServer(handler)
			t.Cleanup(server.CloseClientConnections)
			open, refused := slowBodies(t, server, "127.0.0.1", c.path, c.key, c.sent)
			if c.all && refused > 0 || open < 100 {
				t.Errorf("%d slow bodies are open, %d were refused", open, refused)
			}
			large := `{"items":[` + strings.Repeat(`{"type":"event","name":"order","distinctId":"u"},`, 999) + `{"type":"event","name":"order","distinctId":"u"}]`
			for _, sender := range []struct{ from, key, inside string }{{"127.0.0.1", "secret", ""}, {"127.0.0.2", "key0", ""}, {"127.0.0.2", "", `,"writeKey":"key0"`}} {
				client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(sender.from)}}).DialContext}}
				t.Cleanup(client.CloseIdleConnections)
				for n := range 15 {
					request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/v1/batch", bytes.NewReader([]byte(large+sender.inside+"}")))
					if err != nil {
						t.Fatal(err)
					}
					if sender.key != "" {
						request.Header.Set("Authorization", "Bearer "+sender.key)
					}
					answer, err := client.Do(request)
					if err != nil {
						t.Fatal(err)
					}
					_ = answer.Body.Close()
					if answer.StatusCode != http.StatusAccepted {
						t.Errorf("request %d of %+v: %s", n+1, sender, fmt.Sprint(answer.StatusCode))
					}
				}
			}
		})
	}
}
