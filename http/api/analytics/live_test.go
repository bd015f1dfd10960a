package analytics_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/http/api/apitest"
	"svc/http/route"
)

// crowd is a presence with visitors that a test sets.
type crowd struct {
	mu       sync.Mutex
	visitors uint64
	pages    []analytics.LiveRow
	asked    int
	err      error
}

func (c *crowd) Live(context.Context, domain.Environment) (analytics.Live, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return analytics.Live{AsOf: time.Now(), Visitors: c.visitors, Pages: c.pages}, c.err
}

func (c *crowd) set(visitors uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.visitors, c.err = visitors, err
}

// TestLiveStreamFollowsChanges watches the view for some virtual seconds.
func TestLiveStreamFollowsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := &crowd{visitors: 1}
		memory := apitest.NewMemory(apitest.Noon)
		world := memory.Fill(t)
		config := memory.Config()
		ports := memory.Ports()
		ports.Analytics.Presence = there
		config.Routes = ports.Routes()
		handler, err := route.New(config)
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/apps/acme/web/analytics/live", nil)
		request.Header.Set("Authorization", "Bearer "+world.Owner.Reveal())
		request.Header.Set("Accept", "text/event-stream")
		response := httptest.NewRecorder()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			handler.ServeHTTP(response, request)
		}()
		for _, visitors := range []uint64{1, 1, 3, 2, 2} { // The last but one value is replaced before the stream reads it.
			time.Sleep(900 * time.Millisecond)
			there.set(visitors, nil)
		}
		time.Sleep(5 * time.Second)
		there.set(2, domain.Unavailable("The store", time.Second))
		<-ended
		var seen []string
		for line := range strings.Lines(response.Body.String()) {
			for _, part := range []string{`"visitors":1,`, `"visitors":2,`, `"visitors":3,`, `"code":"unavailable"`, "event: ", "id: "} {
				if strings.Contains(line, part) {
					seen = append(seen, part+map[bool]string{true: strings.TrimSpace(strings.TrimPrefix(line, part))}[strings.HasPrefix(line, part)])
				}
			}
		}
		want := []string{"id: 1", `"visitors":1,`, "id: 2", `"visitors":3,`, "id: 3", `"visitors":2,`, "id: 4", "event: error", `"code":"unavailable"`}
		if !slices.Equal(seen, want) {
			t.Errorf("got %q, want %q\n%s", seen, want, response.Body)
		}
		if there.asked > 11 {
			t.Errorf("asked %d times in 10 s", there.asked)
		}
	})
}

// TestLiveHidesAddresses reads the view with and without people.pii.read.
func TestLiveHidesAddresses(t *testing.T) {
	memory := apitest.NewMemory(apitest.Noon)
	world := memory.Fill(t)
	config, ports := memory.Config(), memory.Ports()
	ports.Analytics.Presence = &crowd{visitors: 1, pages: []analytics.LiveRow{{Value: "/u/ada@acme.example", Visitors: 1}}}
	config.Routes = ports.Routes()
	handler, err := route.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		token domain.Secret
		want  string
	}{{world.Viewer, `"pages":[{"path":"/u/a***************","visitors":1}]`}, {world.Owner, `"pages":[{"path":"/u/ada@acme.example","visitors":1}]`}} {
		request := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/apps/acme/web/analytics/live", nil)
		request.Header.Set("Authorization", "Bearer "+c.token.Reveal())
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if !strings.Contains(response.Body.String(), c.want) {
			t.Errorf("got %s, want %s", response.Body, c.want)
		}
	}
}
