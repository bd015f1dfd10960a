package bare

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"svc/bench/harness"
)

// roleRelay is the child that relays streams.
const roleRelay = "relay"

// RelayPath is the path of a relay of streams.
const RelayPath = "/relay"

// modelVariable holds the address of a relay's model.
const modelVariable = "SVC_BENCH_MODEL"

// serveRelay sends every request to the model and writes each fragment of its answer as a frame, without decoding. Like
// the service it flushes when it has no more input. So a single frame costs one read and one write, and consecutive
// frames share them.
func serveRelay(address string) error {
	model := os.Getenv(modelVariable)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: relayConnections}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+RelayPath, func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, model, http.NoBody)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		answer, err := client.Do(request)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = answer.Body.Close() }() // the body was read
		w.Header().Set("Content-Type", "text/event-stream")
		relay(w, bufio.NewReader(answer.Body))
	})
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// relayConnections is the number of connections that a relay holds open to its model.
const relayConnections = 1000

func relay(w http.ResponseWriter, lines *bufio.Reader) {
	flusher := http.NewResponseController(w)
	frame := []byte{}
	for n := 1; ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		data, isData := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
		if !isData {
			continue
		}
		event := "text"
		if bytes.Equal(data, []byte("[DONE]")) {
			event, data = "done", []byte("{}")
		}
		frame = strconv.AppendInt(append(frame[:0], "id: "...), int64(n), 10)
		frame = append(append(append(append(frame, "\nevent: "...), event...), "\ndata: "...), data...)
		if _, err := w.Write(append(frame, "\n\n"...)); err != nil {
			return
		}
		n++
		if lines.Buffered() <= len("\n") && flusher.Flush() != nil { // the empty line may already be buffered
			return
		}
	}
}

// Relay starts a relay of a model's streams on a processor and returns it with its address.
func Relay(ctx context.Context, cpu int, dir, model string) (*harness.Process, string, error) {
	return startStreaming(ctx, roleRelay, cpu, dir, modelVariable+"="+model)
}

// startStreaming starts a child that serves streams.
func startStreaming(ctx context.Context, role string, cpu int, dir string, environment ...string) (*harness.Process, string, error) {
	address, err := harness.FreeAddress(ctx)
	if err != nil {
		return nil, "", err
	}
	process, err := startChild(role, address, cpu, dir, environment...)
	if err != nil {
		return nil, "", fmt.Errorf("starting %s: %w", role, err)
	}
	if err := listening(ctx, address); err != nil {
		process.Kill()
		return nil, "", err
	}
	return process, address, nil
}
