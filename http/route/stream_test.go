package route_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain"
	"svc/domain/share"
	"svc/http/route"
)

// tap is a writer whose text may be read while a stream writes.
type tap struct {
	head http.Header

	mu     sync.Mutex
	status int
	text   bytes.Buffer
	broken error
}

func (w *tap) Header() http.Header { return w.head }

func (w *tap) WriteHeader(status int) { w.status = status }

func (w *tap) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return 0, w.broken
	}
	return w.text.Write(p)
}

func (w *tap) Flush() {}

// take returns the text written since the last call.
func (w *tap) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.text.Reset()
	return w.text.String()
}

type counted struct {
	N int `json:"n"`
}

// streaming is a row that yields a frame for every value sent to it.
func streaming(values <-chan any) route.Route {
	row := row("GET", "/things", func(context.Context, *route.Call, struct{}) (counted, error) { return counted{N: -1}, nil })
	row.Rate = domain.RateQuery
	row.Handler = route.TypedStream(
		func(context.Context, *route.Call, struct{}) (counted, error) { return counted{N: -1}, nil },
		func(ctx context.Context, _ *route.Call, _ struct{}, yield func(route.Frame) bool) error {
			for {
				select {
				case value, more := <-values:
					if err, failed := value.(error); failed || !more {
						return err
					}
					if !yield(route.Frame{Data: value}) {
						return nil
					}
				case <-ctx.Done():
					return nil
				}
			}
		})
	return row
}

// listen opens a stream; ended is closed when it has ended.
func listen(ctx context.Context, handler http.Handler, headers ...string) (w *tap, ended chan struct{}) {
	w, ended = &tap{head: http.Header{}}, make(chan struct{})
	request := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/things", nil)
	request.Header.Set("Authorization", "Bearer "+secret(domain.TokenPersonal).Reveal())
	request.Header.Set("Accept", "text/event-stream")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	go func() {
		defer close(ended)
		handler.ServeHTTP(w, request)
	}()
	return w, ended
}

func hasEnded(ended chan struct{}) bool {
	synctest.Wait()
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

func stream(t *testing.T, test func(t *testing.T, handler *route.Handler, values chan any)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		values := make(chan any)
		test(t, newGateway().handler(t, streaming(values)), values)
	})
}

func expect(t *testing.T, w *tap, want string) {
	t.Helper()
	synctest.Wait()
	if got := w.take(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStreamNumbersFramesAndKeepsQuietOnesOpen(t *testing.T) {
	stream(t, func(t *testing.T, handler *route.Handler, values chan any) {
		ctx, leave := context.WithCancel(t.Context())
		w, ended := listen(ctx, handler, "Last-Event-ID: 41")
		values <- counted{1}
		expect(t, w, "id: 42\ndata: {\"n\":1}\n\n")
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
			if got := w.head.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		time.Sleep(14 * time.Second)
		expect(t, w, "")
		time.Sleep(time.Second)
		expect(t, w, ": ping\n\n")
		values <- counted{2}
		expect(t, w, "id: 43\ndata: {\"n\":2}\n\n")
		time.Sleep(15 * time.Second)
		expect(t, w, ": ping\n\n")
		leave()
		if !hasEnded(ended) {
			t.Error("the stream goes on after the client has gone")
		}
	})
}

func TestStreamEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(handler *route.Handler, values chan any)
		want string
	}{
		{"with the service", func(handler *route.Handler, _ chan any) { handler.Drain(); handler.Drain() }, ""},
		{"with its endpoint", func(_ *route.Handler, values chan any) { close(values) }, ""},
		{"after its time", func(*route.Handler, chan any) { time.Sleep(15 * time.Minute) }, strings.Repeat(": ping\n\n", 59)},
		{"with an error that may be seen", func(_ *route.Handler, values chan any) {
			values <- domain.Unavailable("The store", time.Second)
		}, "id: 2\nevent: error\ndata: {\"message\":\"The store does not answer.\",\"code\":\"unavailable\"}\n\n"},
		{
			"with an error that may not", func(_ *route.Handler, values chan any) { values <- errors.New("secret") },
			"id: 2\nevent: error\ndata: {\"message\":\"Something failed here; the request id finds it in the log.\",\"code\":\"internal\"}\n\n",
		},
		{"with a frame that JSON cannot hold", func(_ *route.Handler, values chan any) { values <- func() {} }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream(t, func(t *testing.T, handler *route.Handler, values chan any) {
				w, ended := listen(t.Context(), handler)
				time.Sleep(time.Second) // The last ping must not coincide with the end.
				values <- counted{1}
				expect(t, w, "id: 1\ndata: {\"n\":1}\n\n")
				c.end(handler, values)
				if !hasEnded(ended) {
					t.Error("the stream goes on")
				}
				if got := w.take(); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestStreamThatFailsAtOnceIsAProblem(t *testing.T) {
	stream(t, func(t *testing.T, handler *route.Handler, values chan any) {
		w, ended := listen(t.Context(), handler)
		values <- domain.NotFound("thing")
		if !hasEnded(ended) || w.status != 404 || w.head.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d %v %s", w.status, w.head, w.take())
		}
		handler.Drain()
		w, ended = listen(t.Context(), handler)
		if !hasEnded(ended) || w.status != 503 {
			t.Errorf("a stream of a service that stops: %d %s", w.status, w.take())
		}
	})
}

func TestStreamsOfATokenAreBounded(t *testing.T) {
	stream(t, func(t *testing.T, handler *route.Handler, values chan any) {
		ctx, leave := context.WithCancel(t.Context())
		var open []chan struct{}
		for range 3 {
			_, ended := listen(ctx, handler)
			open = append(open, ended)
			synctest.Wait()
		}
		if hasEnded(open[0]) || hasEnded(open[1]) || !hasEnded(open[2]) {
			t.Error("of three streams, the third one must be refused")
		}
		if response := ask(t, handler, "GET", "/api/v1/things", ""); response.Code != 200 || strings.TrimSpace(response.Body.String()) != `{"n":-1}` {
			t.Errorf("beside two streams: %d %s", response.Code, response.Body)
		}
		leave()
		hasEnded(open[0])
		w, ended := listen(t.Context(), handler)
		values <- counted{7}
		expect(t, w, "id: 1\ndata: {\"n\":7}\n\n")
		close(values)
		if !hasEnded(ended) {
			t.Error("the stream goes on")
		}
	})
}

func TestStreamOfAClientThatCannotBeReachedEnds(t *testing.T) {
	stream(t, func(t *testing.T, handler *route.Handler, values chan any) {
		w, ended := listen(t.Context(), handler)
		values <- counted{1}
		expect(t, w, "id: 1\ndata: {\"n\":1}\n\n")
		w.mu.Lock()
		w.broken = errors.New("gone")
		w.mu.Unlock()
		time.Sleep(15 * time.Second)
		if !hasEnded(ended) {
			t.Error("the stream goes on")
		}
	})
}

func TestWhoGetsAStream(t *testing.T) {
	for accept, streams := range map[string]bool{
		"text/event-stream": true, "text/event-stream, */*": true, "TEXT/EVENT-STREAM;q=0.5": true,
		"text/event-stream;q=0": false, "application/json, text/event-stream": false, "*/*": false, "text/*": false,
	} {
		stream(t, func(t *testing.T, handler *route.Handler, values chan any) {
			close(values) // a stream ends at once
			w, ended := listen(t.Context(), handler, "Accept: "+accept)
			if !hasEnded(ended) {
				t.Fatal("no answer")
			}
			if got := w.head.Get("Content-Type") == "text/event-stream"; got != streams {
				t.Errorf("%q: %d %v", accept, w.status, w.head)
			}
		})
	}
}

// changing is a gateway whose answers change while a stream is open.
type changing struct {
	*gateway
	refusal atomic.Pointer[domain.Error]
	grant   atomic.Pointer[domain.Grant]
	gone    atomic.Bool
}

func (c *changing) Authorize(context.Context, string, domain.RateClass, string) (domain.Grant, domain.RateState, error) {
	if refusal := c.refusal.Load(); refusal != nil {
		return *c.grant.Load(), domain.RateState{}, refusal
	}
	return *c.grant.Load(), domain.RateState{}, nil
}

func (c *changing) Read(ctx context.Context, ref domain.AppRef, part share.AppPart) (domain.Application, share.AppParts, error) {
	if c.gone.Load() {
		return domain.Application{}, share.AppParts{}, domain.NotFound("application")
	}
	return c.gateway.Read(ctx, ref, part)
}

// TestStreamEndsWhenItsCallerMayNotReadAnyMore revokes, removes and deletes while streams are open. A temporary failure
// or an exhausted limit ends no stream.
func TestStreamEndsWhenItsCallerMayNotReadAnyMore(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *changing)
		ends   bool
	}{
		"revoked":     {func(c *changing) { c.refusal.Store(&domain.Error{Code: domain.CodeUnauthorized}) }, true},
		"removed":     {func(c *changing) { c.refusal.Store(&domain.Error{Code: domain.CodeNotFound}) }, true},
		"demoted":     {func(c *changing) { c.grant.Store(&domain.Grant{Token: domain.Token{Scopes: domain.Scopes()}}) }, true},
		"deleted":     {func(c *changing) { c.gone.Store(true) }, true},
		"unavailable": {func(c *changing) { c.refusal.Store(&domain.Error{Code: domain.CodeUnavailable}) }, false},
		"limited":     {func(c *changing) { c.refusal.Store(&domain.Error{Code: domain.CodeRateLimited}) }, false},
		"unchanged":   {func(*changing) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				authority := &changing{gateway: newGateway()}
				authority.grant.Store(&authority.gateway.grant)
				values := make(chan any)
				var reads atomic.Int64
				row := streaming(values)
				row.Path, row.Permission = "/apps/{org}/{app}/things", domain.PermAnalyticsRead
				handler, err := route.New(route.Config{
					Routes: []route.Route{row}, Authority: authority, Applications: authority, Auditor: authority, Replays: authority, Cursors: domain.NewCursors([]byte("k")),
					Now: noon, PublicURL: "https://svc.example/", ConcurrentQueries: 2, ConcurrentStreams: 2, Reads: func(_ context.Context, lasting time.Duration) { reads.Add(int64(lasting)) },
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, leave := context.WithCancel(t.Context())
				w, ended := &tap{head: http.Header{}}, make(chan struct{})
				request := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/apps/acme/web/things", nil)
				request.Header.Set("Authorization", "Bearer "+secret(domain.TokenPersonal).Reveal())
				request.Header.Set("Accept", "text/event-stream")
				go func() {
					defer close(ended)
					handler.ServeHTTP(w, request)
				}()
				values <- counted{1}
				test.change(authority)
				time.Sleep(11 * time.Second)
				if over := hasEnded(ended); over != test.ends {
					t.Errorf("the stream has ended: %t, with %q", over, w.take())
				}
				if name == "unchanged" && time.Duration(reads.Load()) != 30*time.Second {
					t.Errorf("a stream of eleven seconds was told to last %s, want twice 15s", time.Duration(reads.Load()))
				}
				leave()
				<-ended
			})
		})
	}
}
