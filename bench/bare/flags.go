package bare

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/goccy/go-json"
	"github.com/julienschmidt/httprouter"
)

// Flags is the child that answers evaluations of flags without evaluating: it decodes a request and writes a prepared
// answer.
const Flags = "flags"

// Paths of bare evaluations. The second decodes an OFREP request; the others answer 20 and 1,000 flags.
const (
	FlagsPath     = "/api/v1/flags/evaluate"
	OFREPPath     = "/ofrep/v1/evaluate/flags/flag-0"
	AllFlagsPath  = "/api/v1/flags/evaluate-all"
	ManyFlagsPath = "/api/v1/flags/evaluate-many"
)

// traits is the context of an evaluation as a bare handler decodes it.
type traits struct {
	TargetingKey string `json:"targetingKey"`
	Country      string `json:"country"`
	Plan         string `json:"plan"`
	Email        string `json:"email"`
	Device       string `json:"device"`
	Version      string `json:"version"`
}

type evaluation struct {
	DistinctID string   `json:"distinctId"`
	Context    traits   `json:"context"`
	Keys       []string `json:"keys"`
}

// constantFlags are the answers of flags to a native request.
func constantFlags(flags int) []byte {
	out := []byte(`{"flags":{`)
	for n := range flags {
		if n > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `"flag-%d":{"enabled":true,"variant":"control","value":"control","reason":"rule","ruleId":"rest"}`, n)
	}
	return append(out, `},"revision":20,"environment":"production"}`...)
}

// serveFlags is the main function of the child.
func serveFlags(address string) error {
	router := httprouter.New()
	for path, answer := range map[string][]byte{
		FlagsPath: constantFlags(1), AllFlagsPath: constantFlags(20), ManyFlagsPath: constantFlags(1000),
		OFREPPath: []byte(`{"key":"flag-0","value":"control","variant":"control","reason":"TARGETING_MATCH","metadata":{"flagVersion":1,"ruleId":"rest"}}`),
	} {
		router.POST(path, evaluating(answer))
	}
	server := &http.Server{Addr: address, Handler: router, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// evaluating returns a handler that decodes a request and writes an answer.
func evaluating(answer []byte) httprouter.Handle {
	pool := &sync.Pool{New: func() any { return new(bytes.Buffer) }}
	length, media := []string{strconv.Itoa(len(answer))}, []string{"application/json"}
	return func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		body := pool.Get().(*bytes.Buffer)
		defer pool.Put(body)
		body.Reset()
		var asked evaluation
		if _, err := body.ReadFrom(io.LimitReader(r.Body, bodyBytes)); err != nil || json.Unmarshal(body.Bytes(), &asked) != nil || asked.DistinctID+asked.Context.TargetingKey == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		header := w.Header()
		header["Content-Type"], header["Content-Length"] = media, length
		_, _ = w.Write(answer)
	}
}
