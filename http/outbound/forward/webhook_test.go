package forward

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/destination"
	"svc/http/outbound"
)

// half answers with a part of an answer and ends the connection.
func half(w http.ResponseWriter, text string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte(text)) // The other end may have disconnected.
	_ = conn.Close()
}

// hooked is a sender over the permitted loopback addresses, and a destination.
func hooked(t *testing.T, url string, fields destination.PersonFields) (*Sender, destination.DispatchRequest) {
	t.Helper()
	allowed, err := domain.ParseAllow("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	d := &destination.Destination{ID: "dst_1", AppID: "app_1", Spec: destination.Spec{Kind: destination.Webhook, Config: destination.Config{URL: url, PersonFields: fields}}}
	return NewSender(outbound.NewDialer(allowed).Client(), Platforms(), noon), destination.DispatchRequest{
		Destination: d, Credential: destination.Credential{Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, Items: []destination.DispatchItem{bought("e1", 0)},
	}
}

// TestHowAReceiverEndsADelivery scripts a receiver and checks that each answer ends the attempt as specified.
func TestHowAReceiverEndsADelivery(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/nothing":
			<-release
		case "/half":
			half(w, "HTTP/1.1 200 O")
		case "/half-body":
			half(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		case "/large":
			for range 10 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		case "/429":
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/301":
			http.Redirect(w, r, "/200", http.StatusMovedPermanently)
		default:
			status := map[string]int{"/200": 200, "/204": 204, "/400": 400, "/408": 408, "/500": 500}[r.URL.Path]
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(func() { close(release); server.Close() })
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, test := range []struct {
		url   string
		want  destination.DispatchStatus
		code  int
		after time.Duration
	}{
		{server.URL + "/200", destination.DispatchAccepted, 200, 0},
		{server.URL + "/204", destination.DispatchAccepted, 204, 0},
		{server.URL + "/301", destination.DispatchFailed, 301, 0},
		{server.URL + "/400", destination.DispatchFailed, 400, 0},
		{server.URL + "/408", destination.DispatchRetrying, 408, 30 * time.Second},
		{server.URL + "/429", destination.DispatchRetrying, 429, 2 * time.Minute},
		{server.URL + "/500", destination.DispatchRetrying, 500, 30 * time.Second},
		{server.URL + "/nothing", destination.DispatchRetrying, 0, 30 * time.Second},
		{server.URL + "/half", destination.DispatchRetrying, 0, 30 * time.Second},
		{server.URL + "/half-body", destination.DispatchAccepted, 200, 0},
		{server.URL + "/large", destination.DispatchAccepted, 200, 0},
		{gone.URL, destination.DispatchRetrying, 0, 30 * time.Second},
	} {
		sender, request := hooked(t, test.url, destination.PersonHashed)
		patience := 5 * time.Second
		if strings.HasSuffix(test.url, "/nothing") {
			patience = 100 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		outcome := sender.Send(ctx, request)[0]
		cancel()
		status, next := destination.NextDispatch(&outcome, 1, noon())
		if status != test.want || outcome.StatusCode != test.code || status == destination.DispatchRetrying && next.Sub(noon()) != test.after {
			t.Errorf("%s: %s, code %d, again after %v: %s", test.url, status, outcome.StatusCode, next.Sub(noon()), outcome.Error)
		}
		for _, line := range []string{"X-SVC-Delivery: ", "X-SVC-Attempt: ", "X-SVC-Signature: •••\n", "webhook-signature: •••\n"} {
			if !strings.Contains(outcome.Request, line) || strings.Contains(outcome.Request, "v1=") {
				t.Errorf("%s: the record lacks %q, or shows a signature: %s", test.url, line, outcome.Request)
			}
		}
		if len(outcome.Response) > 2*loggedBytes {
			t.Errorf("%s: the record has %d bytes of the answer", test.url, len(outcome.Response))
		}
	}
}

// TestWebhooksReachPublicAddressesOnly expects addresses that are not public to be refused permanently, without a
// connection.
func TestWebhooksReachPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.2", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "[::1]", "[fe80::1]", "[fc00::1]", "[::ffff:10.0.0.1]", "0.0.0.0", "100.64.0.1"} {
		sender, request := hooked(t, "http://"+host+":9/", destination.PersonHashed)
		outcome := sender.Send(t.Context(), request)[0]
		if outcome.OK || outcome.Retry || outcome.Error != outbound.ErrNotPublic.Error() {
			t.Errorf("%s: %+v", host, outcome)
		}
	}
}

// TestWhatAWebhookIsSentOfThePerson checks the three choices.
func TestWhatAWebhookIsSentOfThePerson(t *testing.T) {
	t.Parallel()
	for fields, want := range map[destination.PersonFields]string{
		destination.PersonHashed: `{"id":"per_1","distinctId":"ada","name":"Ada","emailSha256":"` + destination.SHA256Hex("ada.l@gmail.com") + `","phoneSha256":"` + destination.SHA256Hex("+442079460958") + `"}`,
		destination.PersonPlain:  `{"id":"per_1","distinctId":"ada","name":"Ada","email":" Ada.L@Gmail.com ","phone":"+44 20 7946-0958"}`,
		destination.PersonNone:   `null`,
	} {
		_, request := hooked(t, "http://shop.example", fields)
		got, err := json.Marshal(bodyOf(&request, &request.Items[0], noon()).Person)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", fields, got, err, want)
		}
	}
}

// TestTheSignatureOfStandardWebhooks checks the test vector of the specification of Standard Webhooks.
func TestTheSignatureOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	at := time.Unix(1614265330, 0)
	sign(header, []domain.Secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`))
	if got := header["Webhook-Signature"][0]; got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("the signature is %s", got)
	}
}
