package forward

import (
	"net/http"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/destination"
)

// TestWhatAChatIsSent posts a conversion with chat markup in its texts to an incoming webhook. The message identifies
// no person and mentions no one. The log of deliveries does not contain the address, which is the credential.
func TestWhatAChatIsSent(t *testing.T) {
	chatRoom := newPlatform(t, func(map[string]any) (int, string) { return http.StatusOK, "ok" })
	sender := NewSender(chatRoom.Client(), Bases{}, noon)
	item := bought("evt_1", 0)
	item.Conversion.SourceEvent = "<!channel> *now* & <https://evil.example|here>"
	address := domain.Secret(chatRoom.URL + "/services/T1/B1/secret")
	outcomes := sender.Send(t.Context(), destination.DispatchRequest{
		Destination: &destination.Destination{ID: "dst_1", Spec: destination.Spec{Kind: destination.Slack}},
		Credential:  destination.Credential{Secret: address}, Items: []destination.DispatchItem{item},
	})
	if len(outcomes) != 1 || outcomes[0].Error != "" || strings.Contains(outcomes[0].Request, "services/T1") {
		t.Fatalf("the outcome is %+v", outcomes)
	}
	if path := chatRoom.requests[0].URL.Path; path != "/services/T1/B1/secret" {
		t.Errorf("it was sent to %s", path)
	}
	body := chatRoom.bodies[0]
	for _, c := range []struct {
		path []any
		want string
	}{
		{[]any{"text"}, "Purchase — 12.5 EUR"},
		{[]any{"blocks", 0, "text", "text"}, "*Purchase* — 12.5 EUR"},
		{[]any{"blocks", 1, "elements", 0, "text"}, "&lt;!channel&gt; ∗now∗ &amp; &lt;https://evil.example|here&gt; · production · US"},
	} {
		if got := dig(body, c.path...); got != c.want {
			t.Errorf("%v is %q, want %q", c.path, got, c.want)
		}
	}
}

// TestAChatThatRefuses expects no retry for a revoked webhook, and a retry for a busy one.
func TestAChatThatRefuses(t *testing.T) {
	for status, again := range map[int]bool{http.StatusNotFound: false, http.StatusForbidden: false, http.StatusTooManyRequests: true, http.StatusInternalServerError: true} {
		chatRoom := newPlatform(t, func(map[string]any) (int, string) { return status, "no_service" })
		sender := NewSender(chatRoom.Client(), Bases{}, noon)
		outcomes := sender.Send(t.Context(), destination.DispatchRequest{
			Destination: &destination.Destination{ID: "dst_1", Spec: destination.Spec{Kind: destination.Slack}},
			Credential:  destination.Credential{Secret: domain.Secret(chatRoom.URL)}, Items: []destination.DispatchItem{bought("evt_1", 0)},
		})
		if got := outcomes[0]; got.OK || got.Retry != again || got.StatusCode != status {
			t.Errorf("after %d the outcome is %+v", status, got)
		}
	}
}
