package flags

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/zeebo/xxh3"

	"svc/domain"
	"svc/domain/flag"
	"svc/domain/ingest"
	"svc/http/route"
)

// Bounds of a request.
const (
	maxBody = 1 << 20
	// keepBytes bounds the memory that a pooled request retains in each buffer.
	keepBytes = 256 << 10
)

// evaluation is the working memory of one request. It is taken from a pool and returned to it.
type evaluation struct {
	collector *domain.Collector
	set       *flag.Set
	now       time.Time
	// number is the number of the visitor, zero until it is computed.
	number uint64
	// fate is the fate of the evaluations, empty until it is computed.
	fate ingest.Fate
	// outcomes are the outcomes of the requested flags, in order.
	outcomes []*flag.Outcome
	// unchanged is true if the caller has the answer already, so it is evaluated only for the counts.
	unchanged bool
	id        []byte
	context   flag.Context
	person    *flag.Person
	body      []byte
	out       []byte
	// picked are the indexes of the requested flags in the set, in order; all is true if the request names none.
	picked []int
	all    bool
}

//nolint:gochecknoglobals // a pool is shared by all requests of the process by its nature
var (
	evaluations = sync.Pool{New: func() any { return &evaluation{} }}
	jsonType    = []string{"application/json"}
	noCache     = []string{"private, no-cache"}
)

func begin(now time.Time) *evaluation {
	e := evaluations.Get().(*evaluation)
	e.now, e.number, e.fate, e.person, e.picked, e.all = now, 0, "", nil, e.picked[:0], true
	e.unchanged = false
	return e
}

// end clears the working memory and returns it to the pool.
func (e *evaluation) end() {
	if cap(e.body) > keepBytes || cap(e.out) > keepBytes {
		e.body, e.out = nil, nil
	}
	if e.set != nil {
		e.context.Reset(e.set, e.now)
	}
	clear(e.outcomes)
	e.outcomes, e.collector, e.set, e.person = e.outcomes[:0], nil, nil, nil
	evaluations.Put(e)
}

// use begins the evaluation of the flags that a key may see.
func (e *evaluation) use(f *Flags, collector *domain.Collector) {
	e.collector, e.set = collector, f.Definitions.Set(collector.App, collector.Environment.Slug)
	e.context.Reset(e.set, e.now)
}

// read reads the body, and inflates a compressed one.
func (e *evaluation) read(r *http.Request) error {
	e.body = e.body[:0]
	if r.ContentLength > maxBody {
		return errTooLarge()
	}
	var err error
	if e.body, err = appendAll(e.body, r.Body); err != nil {
		return err
	}
	if len(e.body) > 2 && e.body[0] == 0x1f && e.body[1] == 0x8b {
		packed, err := gzip.NewReader(strings.NewReader(string(e.body)))
		if err != nil {
			return notReadable()
		}
		e.body, err = appendAll(e.body[:0], packed)
		return err
	}
	return nil
}

func errTooLarge() error {
	return domain.Errorf(domain.CodeTooLarge, "The body is over %d bytes.", maxBody)
}

func notReadable() error {
	return domain.Invalid(domain.FieldError{Code: "unreadable_body", Message: "The body cannot be read."})
}

// appendAll reads everything within the bound of bodies.
func appendAll(into []byte, from io.Reader) ([]byte, error) {
	if cap(into) == 0 {
		into = make([]byte, 0, 1024)
	}
	for {
		if len(into) == cap(into) {
			into = append(into, 0)[:len(into)]
		}
		n, err := from.Read(into[len(into):cap(into)])
		into = into[:len(into)+n]
		switch {
		case len(into) > maxBody:
			return into, errTooLarge()
		case err == io.EOF:
			return into, nil
		case err != nil:
			return into, notReadable()
		}
	}
}

// unform replaces a form by the JSON in its member data, as PostHog's SDKs send it.
func (e *evaluation) unform() {
	if len(e.body) == 0 || e.body[0] == '{' {
		return
	}
	form, err := url.ParseQuery(string(e.body))
	if err != nil || form.Get("data") == "" {
		return
	}
	data := form.Get("data")
	// In unescaped base64 a plus became a space; in JSON, spaces are spaces.
	decoded, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(data, " ", "+"))
	if err != nil {
		decoded = []byte(data)
	}
	if len(decoded) > 2 && decoded[0] == 0x1f && decoded[1] == 0x8b {
		packed, err := gzip.NewReader(strings.NewReader(string(decoded)))
		if err != nil {
			return
		}
		if decoded, err = appendAll(nil, packed); err != nil {
			return
		}
	}
	e.body = append(e.body[:0], decoded...)
}

// pick adds a requested flag; the answer omits a flag that does not exist.
func (e *evaluation) pick(key string) {
	if n, found := e.set.Index(key); found {
		e.picked = append(e.picked, n)
	}
}

// picks completes the list of requested flags.
func (e *evaluation) picks() {
	slices.Sort(e.picked)
	e.picked, e.all = slices.Compact(e.picked), false
}

// pickLive removes the archived flags from the requested ones.
func (e *evaluation) pickLive() {
	if e.all {
		for n := range e.set.Entries {
			e.picked = append(e.picked, n)
		}
		e.all = false
	}
	e.picked = slices.DeleteFunc(e.picked, func(n int) bool { return e.set.Entries[n].Flag.Archived() })
}

// asked returns the number of requested flags.
func (e *evaluation) asked() int {
	if e.all {
		return len(e.set.Entries)
	}
	return len(e.picked)
}

// place returns the index in the set of the n-th requested flag.
func (e *evaluation) place(n int) int {
	if e.all {
		return n
	}
	return e.picked[n]
}

// moment is the step at which the tag of an answer can be computed.
type moment uint8

const (
	onArrival moment = iota
	personKnown
	answered
)

// moment returns the step at which the answer gets its tag. The tag depends on the revision, on the whole request, and
// on the person's values that flags may read. If a flag uses the time since an instant, the tag depends on the answer
// as well.
func (e *evaluation) moment() moment {
	switch {
	case e.set.Relative():
		return answered
	case e.set.Personal():
		return personKnown
	}
	return onArrival
}

// tagged sets the answer's tag if now is the step for it, and answers 304 if the caller has the answer already. Once a
// second such an answer is evaluated first, so that the counts show that the flags are in use.
func (e *evaluation) tagged(w *route.Response, r *http.Request, now moment) (known bool) {
	switch {
	case e.unchanged && now == answered:
		w.WriteHeader(http.StatusNotModified)
		return true
	case e.unchanged, e.moment() != now:
		return false
	}
	var head [32]byte
	binary.LittleEndian.PutUint64(head[:], e.collector.Environment.Number)
	binary.LittleEndian.PutUint64(head[8:], e.set.Revision)
	binary.LittleEndian.PutUint64(head[16:], uint64(e.set.Epoch(e.now)))
	binary.LittleEndian.PutUint64(head[24:], e.set.Stamp(e.person))
	sum := xxh3.Hash(e.body) ^ xxh3.Hash(head[:])*0x9E3779B97F4A7C15
	if now == answered {
		sum ^= xxh3.Hash(e.out) * 0xC2B2AE3D27D4EB4F
	}
	tag := make([]byte, 0, 48)
	tag = append(tag, '"')
	tag = strconv.AppendUint(tag, e.set.Revision, 10)
	tag = append(tag, '-')
	tag = strconv.AppendUint(tag, sum, 36)
	tag = append(tag, '"')
	text := string(tag)
	header := w.Header()
	header["Etag"], header["Cache-Control"] = []string{text}, noCache
	wanted := r.Header["If-None-Match"]
	if len(wanted) == 0 || !holdsTag(wanted[0], text) {
		return false
	}
	if e.unchanged = now != answered && e.set.Sample(e.now); e.unchanged {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

func holdsTag(list, tag string) bool {
	if list == tag {
		return true
	}
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		if strings.TrimPrefix(part, "W/") == tag || part == "*" {
			return true
		}
	}
	return false
}

// wholeAnswer is the length up to which net/http sets the length of an answer itself.
const wholeAnswer = 2048

// send answers 200 with the content of out.
func (e *evaluation) send(w *route.Response) {
	header := w.Header()
	header["Content-Type"] = jsonType
	if len(e.out) > wholeAnswer {
		header["Content-Length"] = []string{strconv.Itoa(len(e.out))} // Without the length the answer would be chunked.
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(e.out)
}
