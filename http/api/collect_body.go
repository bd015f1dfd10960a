package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"

	"svc"
	"svc/protos"
)

// intakeRequest is the working memory of one ingest request; it is reused.
type intakeRequest struct {
	collect *Collect
	writer  http.ResponseWriter
	request *http.Request

	now       time.Time
	collector *svc.Collector
	raw       bytes.Buffer
	limited   io.LimitedReader
	inflated  bytes.Buffer
	body      []byte
	envelope  envelope
	items     []item
	event     protos.Event
	campaign  protos.Campaign
	userAgent string
	remoteIP  string
	screenRaw []byte
	screen    string
	// properties are those of the event under way, where they are not what was sent.
	properties []byte
	// said counts what the items without an id say, around is the sum of the context that
	// they share, words is the text that names one.
	said   map[xxh3.Uint128]uint64
	around xxh3.Uint128
	words  []byte
	// rawItems are the bytes of the items, for errors; single says that the body
	// is one item.
	rawItems []json.RawMessage
	single   bool
	// debugIDs names the source maps of the request's files.
	debugIDs map[string]string
	// point and labels are those of the metric point under way.
	point  protos.MetricPoint
	labels []svc.Label
	// answered is the id that an SDK of Sentry is told, pause how long it shall wait.
	answered string
	pause    time.Duration

	accepted int
	rejected []svc.Rejection
	payloads [][]byte
	touched  []int
	parts    []svc.Part
	out      []byte
}

//nolint:gochecknoglobals // a pool is shared by all requests of the process by its nature
var (
	intakePool = sync.Pool{New: func() any { return &intakeRequest{} }}
	jsonType   = []string{"application/json"}
)

// keepBytes bounds the memory that a pooled request keeps per buffer.
const keepBytes = 1 << 20

func (i *intakeRequest) reset(c *Collect, w http.ResponseWriter, r *http.Request, arrival time.Time) {
	i.collect, i.writer, i.request, i.now = c, w, r, arrival
	if len(i.payloads) != c.Partitions {
		i.payloads = make([][]byte, c.Partitions)
	}
}

// release empties the request and returns it to the pool.
func (i *intakeRequest) release() {
	for _, partition := range i.touched {
		if cap(i.payloads[partition]) > keepBytes {
			i.payloads[partition] = nil
		}
		i.payloads[partition] = i.payloads[partition][:0]
	}
	clear(i.items)
	clear(i.parts)
	clear(i.said)
	i.collect, i.writer, i.request, i.collector, i.body = nil, nil, nil, nil, nil
	i.limited.R = nil
	i.envelope, i.items, i.touched, i.rejected = envelope{}, i.items[:0], i.touched[:0], i.rejected[:0]
	i.event, i.campaign, i.point = protos.Event{}, protos.Campaign{}, protos.MetricPoint{}
	clear(i.labels[:cap(i.labels)])
	i.accepted, i.userAgent, i.remoteIP, i.around = 0, "", "", xxh3.Uint128{}
	i.rawItems, i.single, i.debugIDs, i.answered, i.pause = nil, false, nil, "", 0
	if i.raw.Cap() > keepBytes || i.inflated.Cap() > keepBytes {
		i.raw, i.inflated = bytes.Buffer{}, bytes.Buffer{}
	}
	if cap(i.properties) > keepBytes || cap(i.words) > keepBytes {
		i.properties, i.words = nil, nil
	}
	i.raw.Reset()
	i.inflated.Reset()
	intakePool.Put(i)
}

// readBody reads the body within a limit and inflates it within another.
func (i *intakeRequest) readBody(limit int64) error {
	if err := i.readRaw(limit); err != nil {
		return err
	}
	return i.inflate()
}

// readRaw reads the body within a limit.
func (i *intakeRequest) readRaw(limit int64) error {
	if i.request.ContentLength > limit {
		return tooLarge("The body is over %d bytes.", limit)
	}
	i.limited = io.LimitedReader{R: i.request.Body, N: limit + 1}
	n, err := i.raw.ReadFrom(&i.limited)
	if err != nil {
		return svc.Invalid(svc.FieldError{Code: "unreadable_body", Message: "The body ended early."})
	}
	if n > limit {
		return tooLarge("The body is over %d bytes.", limit)
	}
	i.body = i.raw.Bytes()
	return nil
}

func tooLarge(format string, args ...any) error { return svc.Errorf(svc.CodeTooLarge, format, args...) }

// inflate undoes the content encoding. A gzip body is recognised by its first
// bytes as well, since some clients do not name it.
func (i *intakeRequest) inflate() error {
	encoding := headerOf(i.request, "Content-Encoding")
	isGzip := len(i.body) > 2 && i.body[0] == 0x1f && i.body[1] == 0x8b
	var reader io.Reader
	switch {
	case encoding == "gzip" || encoding == "x-gzip" || (encoding == "" || encoding == "identity") && isGzip:
		unzip, err := gzip.NewReader(bytes.NewReader(i.body))
		if err != nil {
			return badEncoding("gzip")
		}
		reader = unzip
	case encoding == "" || encoding == "identity":
		return nil
	case encoding == "zstd":
		unzip, err := zstd.NewReader(bytes.NewReader(i.body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(svc.MaxInflatedBytes))
		if err != nil {
			return badEncoding("zstd")
		}
		defer unzip.Close()
		reader = unzip
	case encoding == "deflate":
		unzip, err := zlib.NewReader(bytes.NewReader(i.body))
		if err != nil {
			return badEncoding("deflate")
		}
		reader = unzip
	case encoding == "br":
		reader = brotli.NewReader(bytes.NewReader(i.body))
	default:
		return svc.Errorf(svc.CodeUnsupportedMedia, "The content encoding %q is not accepted; send gzip, zstd, br, deflate or none.", encoding)
	}
	n, err := i.inflated.ReadFrom(io.LimitReader(reader, svc.MaxInflatedBytes+1))
	switch {
	case n > svc.MaxInflatedBytes, errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return tooLarge("The body inflates to more than %d bytes.", svc.MaxInflatedBytes)
	case err != nil:
		return badEncoding(encoding)
	}
	i.body = i.inflated.Bytes()
	return nil
}

func badEncoding(name string) error {
	return svc.Invalid(svc.FieldError{Code: "invalid_encoding", Message: "The body is not valid " + name + "."})
}

// authenticate finds the collector of the one key that the request carries.
func (i *intakeRequest) authenticate(writeKey string) error {
	key, err := ingestKey(i.request, writeKey)
	if err != nil {
		return err
	}
	if i.collector = i.collect.Collectors.Collector(svc.HashSecret(key)); i.collector == nil {
		return svc.Errorf(svc.CodeUnauthorized, "The ingest key is unknown or revoked.")
	}
	if origin := headerOf(i.request, "Origin"); i.collector.Kind == svc.KeyPublic && !originAllowed(origin, i.collector.Origins) {
		return &svc.Error{
			Code: svc.CodeForbidden, Reason: "origin_not_allowed",
			Message: "The application does not allow events from the origin " + origin + "; add it to allowedOrigins.",
		}
	}
	if i.collector.Kind == svc.KeyPublic {
		// A secret key's connection is the customer's server, not the visitor.
		i.userAgent, i.remoteIP = svc.VisitorAgent(headerOf(i.request, "User-Agent")), remoteIP(i.request)
	}
	return nil
}

// originAllowed says whether pages of an origin may send with a public key. A
// request without an origin comes from no page.
func originAllowed(origin string, allowed []string) bool {
	if origin == "" || slices.Contains(allowed, "*") {
		return true
	}
	normal, ok := svc.NormaliseOrigin(origin)
	return ok && slices.Contains(allowed, normal)
}
