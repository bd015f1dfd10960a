package flags

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/flag"
	"svc/http/route"
)

// ofrepContext is the request of both OFREP endpoints.
type ofrepContext struct {
	Context map[string]any `json:"context" required:"true" doc:"What is known of the person; targetingKey is the distinct id."`
}

type ofrepInput struct {
	Key  string       `path:"key" doc:"The flag's key."`
	Body ofrepContext `body:"json"`
}

type ofrepBulkInput struct {
	Etag string       `query:"flagConfigEtag" doc:"The etag of a message of the stream: the answer is of that revision or a later one."`
	Body ofrepContext `body:"json"`
}

// ofrepFlag is the answer about one flag.
type ofrepFlag struct {
	Key      string         `json:"key"`
	Value    any            `json:"value,omitempty" doc:"Absent where the code's own default holds."`
	Reason   string         `json:"reason" enum:"STATIC,TARGETING_MATCH,SPLIT,DISABLED,UNKNOWN"`
	Variant  string         `json:"variant,omitempty"`
	Metadata map[string]any `json:"metadata"`
}

type ofrepFlags struct {
	Flags        []ofrepFlag    `json:"flags"`
	Metadata     map[string]any `json:"metadata"`
	EventStreams []struct {
		Type               string `json:"type"`
		URL                string `json:"url"`
		InactivityDelaySec int    `json:"inactivityDelaySec"`
	} `json:"eventStreams"`
}

// ofrepFailure is the answer to a request that cannot be evaluated.
type ofrepFailure struct {
	Key          string `json:"key,omitempty"`
	ErrorCode    string `json:"errorCode,omitempty"`
	ErrorDetails string `json:"errorDetails"`
}

func ofrepReason(reason flag.Reason) string {
	switch reason {
	case flag.ByRule:
		return "TARGETING_MATCH"
	case flag.ByRollout:
		return "SPLIT"
	case flag.ByDefault:
		return "STATIC"
	case flag.IsDisabled, flag.IsArchived, flag.PrerequisiteOff:
		return "DISABLED"
	case flag.PersonUnknown:
	}
	return "UNKNOWN"
}

// encodeOFREP writes an outcome as a separate answer.
func encodeOFREP(outcome *flag.Outcome) []byte {
	out := append(make([]byte, 0, 128), `{"key":"`...)
	out = append(out, outcome.Flag().Key...)
	out = append(out, '"')
	if variant := outcome.Variant(); variant != "" {
		out = append(append(out, `,"value":`...), outcome.Value()...)
		out = appendText(append(out, `,"variant":`...), variant)
	}
	out = appendText(append(out, `,"reason":`...), ofrepReason(outcome.Reason()))
	out = append(out, `,"metadata":{"flagVersion":`...)
	out = strconv.AppendUint(out, outcome.Flag().Version, 10)
	if outcome.Rule() != "" {
		out = appendText(append(out, `,"ruleId":`...), outcome.Rule())
	}
	return append(out, '}', '}')
}

// beginOFREP reads a request into the context. If it refuses the request, it answers and returns false.
func (f *Flags) beginOFREP(e *evaluation, w *route.Response, r *http.Request) (ok bool) {
	collector, err := f.admit(r, "")
	if err != nil {
		w.Refuse(r, err, nil)
		return false
	}
	e.use(f, collector)
	f.await(e, r)
	if err = e.read(r); err != nil {
		w.Refuse(r, err, nil)
		return false
	}
	return true
}

// maxAwait bounds the wait for a revision that another node sent to the caller.
const maxAwait = time.Second

// await waits until this node has the revision that a message of a stream named. The request is then evaluated by it.
func (f *Flags) await(e *evaluation, r *http.Request) {
	if r.URL.RawQuery == "" {
		return
	}
	wanted, err := strconv.ParseUint(strings.Trim(r.URL.Query().Get("flagConfigEtag"), `"`), 10, 64)
	if err != nil || wanted <= e.set.Revision {
		return
	}
	timer := time.NewTimer(maxAwait)
	defer timer.Stop()
	for {
		set, superseded, _ := f.Definitions.Watch(e.collector.App, e.collector.Environment.Slug)
		if set.Revision >= wanted {
			break
		}
		select {
		case <-superseded:
			continue
		case <-timer.C:
		case <-r.Context().Done():
		}
		break
	}
	e.use(f, e.collector)
}

// refuseOFREP answers a request that cannot be evaluated.
func refuseOFREP(w *route.Response, status int, failure ofrepFailure) {
	encoded, err := json.Marshal(failure)
	if err != nil {
		encoded = []byte("{}")
	}
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(status)
	_, _ = w.Write(encoded)
}

// readOFREP reads the body into the context; it returns nil on success.
func (e *evaluation) readOFREP(key string) *ofrepFailure {
	var context flag.Value
	_, ok := flag.ReadObject(e.body, func(name string, value flag.Value) bool {
		if name == "context" {
			context = value
		}
		return true
	})
	if !ok {
		return &ofrepFailure{key, "PARSE_ERROR", "The body must be one JSON object, nested 32 levels at most."}
	}
	if context.Null() {
		return &ofrepFailure{key, "INVALID_CONTEXT", "The field context is required."}
	}
	var target, anonymous string
	var bad error
	ids := func(name string, value flag.Value) {
		var err error
		switch name {
		case "targetingKey":
			target, err = idOf("targetingKey", value)
		case "anonymousId":
			anonymous, err = idOf("anonymousId", value)
		}
		if err != nil {
			bad = err
		}
		e.context.Set(name, value)
	}
	switch {
	case !context.Members(ids):
		return &ofrepFailure{key, "INVALID_CONTEXT", "The field context must be an object."}
	case bad != nil:
		return &ofrepFailure{key, "INVALID_CONTEXT", bad.Error()}
	case target == "":
		return &ofrepFailure{key, "TARGETING_KEY_MISSING", "The context has no targetingKey."}
	}
	e.context.Identify(target, anonymous)
	return nil
}

func (f *Flags) serveOFREP(w *route.Response, r *http.Request) {
	e := begin(f.Now())
	defer e.end()
	key := r.PathValue("key")
	if !f.beginOFREP(e, w, r) {
		return
	}
	if failure := e.readOFREP(key); failure != nil {
		refuseOFREP(w, http.StatusBadRequest, *failure)
		return
	}
	entry := e.set.Entry(key)
	if entry == nil || entry.Flag.Archived() {
		refuseOFREP(w, http.StatusNotFound, ofrepFailure{key, "FLAG_NOT_FOUND", "There is no such flag."})
		return
	}
	e.pick(key)
	e.picks()
	f.know(e)
	f.evaluate(e, surfaceOFREP)
	e.out = append(e.out[:0], fragment(e.outcomes[0], surfaceOFREP, encodeOFREP)...)
	e.send(w)
}

// streamQuiet is the number of seconds after which an idle page may close its stream.
const streamQuiet = "120"

func (f *Flags) serveOFREPAll(w *route.Response, r *http.Request) {
	e := begin(f.Now())
	defer e.end()
	if !f.beginOFREP(e, w, r) {
		return
	}
	if e.tagged(w, r, onArrival) {
		return
	}
	if failure := e.readOFREP(""); failure != nil {
		w.Header().Del("Etag")
		refuseOFREP(w, http.StatusBadRequest, *failure)
		return
	}
	f.know(e)
	if e.tagged(w, r, personKnown) {
		return
	}
	f.appendOFREP(e, r)
	if e.tagged(w, r, answered) {
		return
	}
	e.send(w)
}

// appendOFREP evaluates all flags and writes the answer.
func (f *Flags) appendOFREP(e *evaluation, r *http.Request) {
	e.pickLive()
	f.evaluate(e, surfaceOFREP)
	e.out = append(e.out[:0], `{"flags":[`...)
	for n, outcome := range e.outcomes {
		if n > 0 {
			e.out = append(e.out, ',')
		}
		e.out = append(e.out, fragment(outcome, surfaceOFREP, encodeOFREP)...)
	}
	e.out = append(e.out, `],"metadata":{"revision":`...)
	e.out = strconv.AppendUint(e.out, e.set.Revision, 10)
	e.out = append(append(e.out, `,"environment":"`...), e.collector.Environment.Slug...)
	e.out = append(append(e.out, `"},"eventStreams":[{"type":"sse","url":`...), f.streamURL(r, e)...)
	e.out = append(e.out, `,"inactivityDelaySec":`+streamQuiet+`}]}`...)
}

// streamURL returns the address of the stream of changes for the caller, as JSON.
func (f *Flags) streamURL(r *http.Request, e *evaluation) []byte {
	origin := f.Origin
	if origin == "" {
		origin = "http://" + r.Host
		if r.TLS != nil {
			origin = "https://" + r.Host
		}
	}
	key, _ := f.Authority.Key(r, "") // The key was checked before.
	encoded, err := json.Marshal(origin + "/ofrep/v1/stream?token=" + f.Tokens.mint(domain.HashSecret(key), e.now))
	if err != nil {
		return []byte(`""`)
	}
	return encoded
}
