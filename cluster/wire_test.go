package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"svc/protos"
)

// The library's remote replaces the process's gRPC logger when it starts. With two remotes in one process that is a
// data race. So every node of these tests is a process of its own: this test program, selected by an environment
// variable.
const (
	childSecret = "SVC_TEST_CHILD_SECRET"
	wireSecret  = "a secret of the cluster of these tests"
)

func TestMain(m *testing.M) {
	if secret := os.Getenv(childSecret); secret != "" {
		if err := runChild(secret); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runChild is a node that answers calls by their method until its input ends.
func runChild(secret string) error {
	logger := slog.New(slog.DiscardHandler)
	wire, err := OpenRemote(RemoteConfig{Addr: "127.0.0.1:0", Secret: secret, Logger: logger})
	if err != nil {
		return err
	}
	wire.Serve(func(ctx context.Context, call *protos.Call) (*protos.Answer, error) {
		switch call.GetMethod() {
		case "moved":
			return nil, ErrMoved
		case "panicked":
			return nil, ErrPanicked
		case "busy":
			return nil, ErrUnavailable
		case "large":
			return &protos.Answer{Payload: make([]byte, messageBytes+1)}, nil
		case "slow":
			<-ctx.Done() // the caller gave up long before
			<-time.After(time.Minute)
			return nil, ctx.Err()
		case "exit":
			os.Exit(3)
		}
		return &protos.Answer{Payload: append([]byte(call.GetIdentity()+":"), call.GetPayload()...)}, nil
	})
	fmt.Println(wire.Self())
	_, _ = io.Copy(io.Discard, os.Stdin)
	wire.Close()
	return nil
}

// startChild starts a node in its own process and returns its address.
func startChild(t *testing.T, secret string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childSecret+"="+secret)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// TestRemote covers the possible outcomes of a call to another node. It is one test with one wire, see above.
func TestRemote(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	wire, err := OpenRemote(RemoteConfig{Addr: "127.0.0.1:0", Secret: wireSecret, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer wire.Close()
	good, foreign := startChild(t, wireSecret), startChild(t, "the secret of another cluster")
	call := func(address, method string, payload []byte, limit time.Duration) (*protos.Answer, error) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return wire.Call(ctx, address, &protos.Call{Kind: "k", Identity: "me", Method: method, Payload: payload})
	}
	const enough = 30 * time.Second
	answer, err := call(good, "echo", []byte("hello"), enough)
	if err != nil || string(answer.GetPayload()) != "me:hello" {
		t.Fatalf("got %v, %v", answer, err)
	}
	for _, c := range []struct {
		name, address, method string
		payload               []byte
		limit                 time.Duration
		want                  error
	}{
		{"moved", good, "moved", nil, enough, ErrMoved},
		{"panicked", good, "panicked", nil, enough, ErrPanicked},
		{"busy", good, "busy", nil, enough, ErrUnavailable},
		{"an answer that is too large", good, "large", nil, enough, ErrUnavailable},
		{"no answer in time", good, "slow", nil, 50 * time.Millisecond, context.DeadlineExceeded},
		{"another secret", foreign, "echo", nil, enough, ErrMoved},
		{"nobody there", "127.0.0.1:1", "echo", nil, enough, ErrMoved},
		{"the node dies", good, "exit", nil, enough, ErrLost},
		{"the node is dead", good, "echo", nil, enough, ErrMoved},
	} {
		if _, err := call(c.address, c.method, c.payload, c.limit); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := call(good, "echo", make([]byte, messageBytes), enough); err == nil {
		t.Error("a call that is too large was sent")
	}
	if len(wire.peer(good).pending) != 0 {
		t.Error("calls are left over")
	}
}

// alone is set in a process that runs only one test.
const alone = "SVC_TEST_ALONE"

// TestRemoteManyLargeCalls sends more than the transport takes in one frame. It runs in its own process: a second wire
// in one process is a data race in the library.
func TestRemoteManyLargeCalls(t *testing.T) {
	if os.Getenv(alone) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRemoteManyLargeCalls$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestRemoteManyLargeCalls") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	logger := slog.New(slog.DiscardHandler)
	wire, err := OpenRemote(RemoteConfig{Addr: "127.0.0.1:0", Secret: wireSecret, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer wire.Close()
	address := startChild(t, wireSecret)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	payload := make([]byte, 24<<10)
	failed := make(chan error, 1001)
	for range cap(failed) {
		go func() {
			_, err := wire.Call(ctx, address, &protos.Call{Kind: "k", Identity: "me", Method: "echo", Payload: payload})
			failed <- err
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}

func TestRemoteRefusesWeakSecrets(t *testing.T) {
	for _, secret := range []string{"", "fifteen letters"} {
		if _, err := OpenRemote(RemoteConfig{Addr: "127.0.0.1:0", Secret: secret}); !errors.Is(err, errSecretShort) {
			t.Errorf("%q: got %v", secret, err)
		}
	}
}
