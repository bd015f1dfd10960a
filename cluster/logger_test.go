package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"

	"svc/protos"
)

const secret = "svc_pat_do-not-print"

// TestTheLibraryNeverPrintsAMessage sends a request with a secret through the library's log: as a dead letter, and in
// warnings with a message attribute.
func TestTheLibraryNeverPrintsAMessage(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c, err := New(Config{
		Kinds: these(echoKind("thing")), Partitions: testPartitions, Placement: ownAll(),
		Logger: logger, Metrics: NewMetrics(prometheus.NewRegistry()),
	})
	if err != nil {
		t.Fatal(err)
	}
	request := newRequest(&protos.Call{Kind: "thing", Method: "m", Payload: []byte(secret)}, 1)
	nobody := c.system.NewLocalPID("nobody")
	c.system.Root.Send(nobody, request)
	c.system.Root.Send(nobody, secret)
	c.system.Root.RequestWithCustomSender(nobody, secret, nobody)
	if out.Len() != 0 {
		t.Errorf("dead letters printed %s", out.String())
	}
	library := c.system.Logger()
	for _, key := range []string{"message", "msg", "envelope", "payload", "sender"} {
		library.Error("something", slog.Any(key, secret))
		library.With(slog.Any(key, secret)).Error("something")
		library.WithGroup("group").Error("something", slog.Any(key, secret))
	}
	library.Error("something", slog.Any("other", request), slog.Any("pid", nobody))
	library.Error("something", slog.Group("nested", slog.Any("message", secret)))
	if strings.Contains(out.String(), "do-not-print") {
		t.Errorf("the secret was printed: %s", out.String())
	}
	if got := strings.Count(out.String(), "level=ERROR"); got != 17 {
		t.Errorf("%d lines were printed, want 17: %s", got, out.String())
	}
}

func TestTheLibraryLogsWarningsOnly(t *testing.T) {
	var out bytes.Buffer
	library := quietLogger(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
			if attr.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return attr
		},
	})))(&actor.ActorSystem{})
	library.Debug("no")
	library.Info("no")
	library.WarnContext(context.Background(), "yes", "message", secret, "code", 7)
	var got, want any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want = map[string]any{"level": "WARN", "msg": "yes", "message": "•••", "code": 7.0}
	if a, b := mustJSON(t, got), mustJSON(t, want); a != b {
		t.Errorf("printed %s, want %s", a, b)
	}
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
