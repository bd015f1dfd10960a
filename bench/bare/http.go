package bare

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/goccy/go-json"
	"github.com/julienschmidt/httprouter"

	"svc/bench/harness"
)

// Handlers that can be measured. The body is read and dropped, decoded as one event, decoded as a batch, or decoded
// according to the path.
const (
	Read   = "read"
	Single = "single"
	Batch  = "batch"
	Both   = "both"
)

// event is the reference event as a bare handler decodes it.
type event struct {
	Name       string         `json:"name"`
	DistinctID string         `json:"distinctId"`
	SessionID  string         `json:"sessionId"`
	Ts         string         `json:"ts"`
	ID         string         `json:"id"`
	Context    surroundings   `json:"context"`
	Properties map[string]any `json:"properties"`
}

type surroundings struct {
	URL      string `json:"url"`
	Path     string `json:"path"`
	Title    string `json:"title"`
	Referrer string `json:"referrer"`
	Locale   string `json:"locale"`
	Screen   struct {
		Width  float64 `json:"width"`
		Height float64 `json:"height"`
	} `json:"screen"`
	UTM struct {
		Source   string `json:"source"`
		Medium   string `json:"medium"`
		Campaign string `json:"campaign"`
	} `json:"utm"`
}

// bodyBytes limits a body.
const bodyBytes = 1 << 20

// serve is the main function of the child: a handler on an address, until it is killed.
func serve(role, address string) error {
	router := httprouter.New()
	roles := map[string]string{"/api/v1/events": role, "/api/v1/batch": role}
	if role == Both {
		roles = map[string]string{"/api/v1/events": Single, "/api/v1/batch": Batch}
	}
	for path, role := range roles {
		handler, err := handlerOf(role)
		if err != nil {
			return err
		}
		router.POST(path, handler)
	}
	server := &http.Server{Addr: address, Handler: router, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

func handlerOf(role string) (httprouter.Handle, error) {
	decode := map[string]func([]byte) (int, error){
		Read: func([]byte) (int, error) { return 1, nil },
		Single: func(body []byte) (int, error) {
			var e event
			return 1, json.Unmarshal(body, &e)
		},
		Batch: func(body []byte) (int, error) {
			var envelope struct {
				Items []event `json:"items"`
			}
			err := json.Unmarshal(body, &envelope)
			return len(envelope.Items), err
		},
	}[role]
	if decode == nil {
		return nil, fmt.Errorf("there is no bare handler %q", role)
	}
	pool := &sync.Pool{New: func() any { return new(bytes.Buffer) }}
	return func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		body := pool.Get().(*bytes.Buffer)
		defer pool.Put(body)
		body.Reset()
		if _, err := body.ReadFrom(io.LimitReader(r.Body, bodyBytes)); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if n, err := decode(body.Bytes()); err != nil || n == 0 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}, nil
}

// Handler is a bare handler in a separate process.
type Handler struct {
	Address string
	process *harness.Process
}

// StartHandler starts a bare handler and waits until it listens.
func StartHandler(ctx context.Context, role string, cpu int, dir string) (*Handler, error) {
	address, err := harness.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	process, err := startChild(role, address, cpu, dir)
	if err != nil {
		return nil, err
	}
	h := &Handler{Address: address, process: process}
	if err := listening(ctx, address); err != nil {
		h.Kill()
		return nil, err
	}
	return h, nil
}

// Kill ends the handler.
func (h *Handler) Kill() { h.process.Kill() }

// HTTP measures a bare handler under a load; the load's address is filled here.
func HTTP(ctx context.Context, role string, cpu int, dir string, load harness.Load) (harness.Measurement, error) {
	handler, err := StartHandler(ctx, role, cpu, dir)
	if err != nil {
		return harness.Measurement{}, err
	}
	defer handler.Kill()
	return handler.Measure(ctx, "http "+role, load)
}

// Measure measures a handler under a load; the load's address is filled here.
func (h *Handler) Measure(ctx context.Context, name string, load harness.Load) (harness.Measurement, error) {
	meter, err := harness.StartMeter(h.process.PID())
	if err != nil {
		return harness.Measurement{}, err
	}
	load.Address, load.Key = h.Address, "none"
	outcome := load.Run(ctx)
	usage, err := meter.Read()
	if err != nil {
		return harness.Measurement{}, err
	}
	return outcome.Fill(name, harness.KindLimit, usage), nil
}
