package llm_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/outbound/llm"
	"svc/http/outbound/llm/llmtest"
)

// wire is a listener with pipes as connections, so that time may be virtual.
type wire struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Accept is net.Listener.
func (w *wire) Accept() (net.Conn, error) {
	select {
	case conn := <-w.dialed:
		return conn, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// Close is net.Listener.
func (w *wire) Close() error { w.once.Do(func() { close(w.closed) }); return nil }

// Addr is net.Listener.
func (w *wire) Addr() net.Addr { return &net.UnixAddr{} }

func (w *wire) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case w.dialed <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// slowly runs a test of one round of every family in virtual time. The model is made before, because a library starts
// goroutines that run until the process ends.
func slowly(t *testing.T, script llmtest.Script, check func(t *testing.T, reply conversation.ModelReply, took time.Duration, err error)) {
	eachFamily(t, func(t *testing.T, family conversation.AIProvider) {
		var listener *wire
		transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.dial(ctx) }}
		models := llm.Models{
			Credentials: credentials{}, Client: &http.Client{Transport: transport},
			Platform: llm.Access{Provider: family, Key: "sk-platform", BaseURL: "http://127.0.0.1:1"},
		}
		model, err := models.Model(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			listener = &wire{dialed: make(chan net.Conn), closed: make(chan struct{})}
			server := &http.Server{Handler: llmtest.New(family, script), ReadHeaderTimeout: time.Minute}
			go func() { _ = server.Serve(listener) }()
			began := time.Now()
			reply, err := round(t, model, func(string) {})
			check(t, reply, time.Since(began), err)
			_ = server.Close()
		})
	})
}

func TestSlowTokensAreWaitedFor(t *testing.T) {
	words := []string{"one ", "two ", "three ", "four"}
	slowly(t, func(int, []byte) llmtest.Round { return llmtest.Round{Text: words, Pace: 100 * time.Second} },
		func(t *testing.T, reply conversation.ModelReply, took time.Duration, err error) {
			if err != nil || reply.Text != strings.Join(words, "") || took != 3*100*time.Second {
				t.Errorf("%q, %v after %s", reply.Text, err, took)
			}
		})
}

func TestAProviderThatFallsSilentIsLeft(t *testing.T) {
	slowly(t, func(int, []byte) llmtest.Round {
		return llmtest.Round{Text: []string{"one ", "two"}, Pace: time.Hour}
	}, func(t *testing.T, reply conversation.ModelReply, took time.Duration, err error) {
		if domain.CodeOf(err) != conversation.CodeProviderError || !strings.Contains(err.Error(), "stopped answering") || reply.Text != "one " || took != conversation.TurnTime {
			t.Errorf("%q, %v after %s", reply.Text, err, took)
		}
	})
}

// TestABusyProviderIsAskedAgainAfterAPause covers the pauses between the attempts.
func TestABusyProviderIsAskedAgainAfterAPause(t *testing.T) {
	slowly(t, func(n int, _ []byte) llmtest.Round {
		return []llmtest.Round{{Status: 429}, {Status: 503}, {Text: []string{"Yes."}}}[n]
	}, func(t *testing.T, reply conversation.ModelReply, took time.Duration, err error) {
		if err != nil || reply.Text != "Yes." || took != 900*time.Millisecond {
			t.Errorf("%q, %v after %s", reply.Text, err, took)
		}
	})
}
