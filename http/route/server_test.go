package route_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"svc/http/route"
)

// TestServerDrains ends the server while a request runs: the request finishes.
func TestServerDrains(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	server, err := route.NewServer("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(inside)
		<-release
		w.WriteHeader(http.StatusNoContent)
	}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	request, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+(<-server.Bound()).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	status := make(chan int, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		status <- response.StatusCode
	}()
	<-inside
	stop()
	close(release)
	if got := <-status; got != http.StatusNoContent {
		t.Errorf("status %d", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServerRefusesBadArguments(t *testing.T) {
	if _, err := route.NewServer("nonsense", http.NotFoundHandler(), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("the address passed")
	}
	if _, err := route.NewServer(":0", nil, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("the missing handler passed")
	}
}
