package bare

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"svc/bench/harness"
)

// roleStreams is the child that writes streams.
const roleStreams = "streams"

// StreamsPath is the path of a writer of streams; the parameter count is the number of frames in an answer.
const StreamsPath = "/frames"

// serveStreams writes frames in their wire format, each flushed separately, until the process is killed.
func serveStreams(address string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+StreamsPath, func(w http.ResponseWriter, r *http.Request) {
		count, err := strconv.Atoi(r.URL.Query().Get("count"))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		flusher := http.NewResponseController(w)
		for n := range count {
			fmt.Fprintf(w, "id: %d\nevent: text\ndata: {\"type\":\"text\",\"text\":\"%d \"}\n\n", n+1, time.Now().UnixNano())
			if flusher.Flush() != nil {
				return
			}
		}
		fmt.Fprintf(w, "id: %d\nevent: done\ndata: {\"type\":\"done\"}\n\n", count+1)
	})
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// Streams starts a writer of streams on a processor and returns it with its address.
func Streams(ctx context.Context, cpu int, dir string) (*harness.Process, string, error) {
	return startStreaming(ctx, roleStreams, cpu, dir)
}

// listening waits until an address accepts connections.
func listening(ctx context.Context, address string) error {
	return harness.Poll(ctx, "the bare handler", 10*time.Second, 5*time.Millisecond, func(ctx context.Context) (bool, string) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return false, err.Error()
		}
		return conn.Close() == nil, ""
	})
}
