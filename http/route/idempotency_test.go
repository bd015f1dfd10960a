package route_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"svc/domain"
	"svc/http/route"
)

// mint is a POST row that counts its calls and shows a secret.
func mint(calls *int, err *error) route.Route {
	return row("POST", "/mint", func(_ context.Context, call *route.Call, in struct {
		Body struct {
			Name string `json:"name"`
		} `body:"json"`
	},
	) (string, error) {
		*calls++
		call.Created(fmt.Sprintf("/mint/%d", *calls))
		return fmt.Sprintf("secret-%s-%d", in.Body.Name, *calls), *err
	})
}

func TestIdempotencyKey(t *testing.T) {
	gateway := newGateway()
	calls, err := 0, error(nil)
	handler := gateway.handler(t, mint(&calls, &err))
	const key = "Idempotency-Key: k1"
	first := ask(t, handler, "POST", "/api/v1/mint", `{"name":"a"}`, key)
	second := ask(t, handler, "POST", "/api/v1/mint", `{"name":"a"}`, key)
	if first.Code != 201 || second.Code != 201 || first.Body.String() != second.Body.String() || calls != 1 ||
		second.Header().Get("Location") != "/api/v1/mint/1" || second.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d calls; %d %s; %d %s %v", calls, first.Code, first.Body, second.Code, second.Body, second.Header())
	}
	if first.Header().Get("Idempotent-Replayed") != "" || second.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%v %v", first.Header(), second.Header())
	}
	if other := ask(t, handler, "POST", "/api/v1/mint", `{"name":"b"}`, key); other.Code != 409 {
		t.Errorf("another body: %d %s", other.Code, other.Body)
	}
	for _, sealed := range gateway.stored {
		if bytes.Contains(sealed, []byte("secret")) {
			t.Error("the stored answer is readable")
		}
	}
	if invalid := ask(t, handler, "POST", "/api/v1/mint", `{"name":1}`, "Idempotency-Key: k2"); invalid.Code != 400 || len(gateway.bodies) != 1 {
		t.Errorf("an invalid request claimed a key: %d %v", invalid.Code, gateway.bodies)
	}
}

func TestIdempotencyKeyIsReleasedByFailures(t *testing.T) {
	calls, err := 0, error(domain.Unavailable("The store", 0))
	handler := newGateway().handler(t, mint(&calls, &err))
	if down := ask(t, handler, "POST", "/api/v1/mint", `{}`, "Idempotency-Key: k"); down.Code != 503 {
		t.Errorf("%d", down.Code)
	}
	err = domain.Errorf(domain.CodeConflict, "Taken.")
	for range 2 {
		if taken := ask(t, handler, "POST", "/api/v1/mint", `{}`, "Idempotency-Key: k"); taken.Code != 409 || calls != 2 {
			t.Errorf("%d after %d calls", taken.Code, calls)
		}
	}
}

// TestARepetitionDrawsTheSame loses the answer of a change that may be durable. The repetition must make the same id,
// and another key another id.
func TestARepetitionDrawsTheSame(t *testing.T) {
	var drawn []string
	handler := newGateway().handler(t, row("POST", "/draw", func(ctx context.Context, _ *route.Call, _ struct{}) (string, error) {
		never := func(string) string { return "never" }
		drawn = append(drawn, domain.DrawID(ctx, "a_", never)+domain.DrawID(ctx, "a_", never)+string(domain.DrawBytes(ctx, 40, nil)))
		return "", domain.Unavailable("The store", 0)
	}))
	for _, key := range []string{"one", "one", "two"} {
		if down := ask(t, handler, "POST", "/api/v1/draw", "", "Idempotency-Key: "+key); down.Code != 503 {
			t.Errorf("%d %s", down.Code, down.Body)
		}
	}
	if drawn[0] != drawn[1] || drawn[0] == drawn[2] || drawn[0][:28] == drawn[0][28:56] || len(drawn[0]) != 2*28+40 {
		t.Errorf("drawn: %q", drawn)
	}
	if !strings.HasPrefix(drawn[0], "a_01") {
		t.Errorf("the id %q does not begin with its time", drawn[0][:28])
	}
}

func TestIdempotencyKeyInProgress(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	handler := newGateway().handler(t, row("POST", "/slow", func(context.Context, *route.Call, struct{}) (string, error) {
		close(inside)
		<-release
		return "", nil
	}))
	done := make(chan int)
	go func() { done <- ask(t, handler, "POST", "/api/v1/slow", "", "Idempotency-Key: k").Code }()
	<-inside
	if second := ask(t, handler, "POST", "/api/v1/slow", "", "Idempotency-Key: k"); second.Code != 409 {
		t.Errorf("%d %s", second.Code, second.Body)
	}
	close(release)
	if code := <-done; code != 200 {
		t.Errorf("%d", code)
	}
}
