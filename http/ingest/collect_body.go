package ingest

import (
	"bytes"
	"encoding/binary"
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
	"svc/http/route"
	"svc/protos"
)

// intakeRequest is the working memory of one ingest request; it is reused.
type intakeRequest struct {
	collect *Collect
	writer  *route.Response
	request *http.Request

	now       time.Time
	collector *svc.Collector
	stay      stay
	raw       bytes.Buffer
	limited   io.LimitedReader
	inflated  []byte
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

func (i *intakeRequest) reset(c *Collect, w *route.Response, r *http.Request, arrival time.Time) {
	i.collect, i.writer, i.request, i.now = c, w, r, arrival
	i.stay.door = c.Door
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
	if i.raw.Cap() > keepBytes || cap(i.inflated) > keepBytes {
		i.raw, i.inflated = bytes.Buffer{}, nil
	}
	if cap(i.properties) > keepBytes || cap(i.words) > keepBytes {
		i.properties, i.words = nil, nil
	}
	i.raw.Reset()
	i.stay.end()
	intakePool.Put(i)
}

// weight is how many times its length an unpacked body takes when it is decoded.
type weight int64

// The weights of protocols, as their tests measure them.
const (
	nativeWeight weight = 4
	sentryWeight weight = 4
	otlpWeight   weight = 16
	remoteWeight weight = 12
)

// readBody reads the body within a limit and inflates it within another. The request has a
// processor afterwards.
func (i *intakeRequest) readBody(limit int64, w weight) error {
	if err := i.readRaw(limit); err != nil {
		return err
	}
	return i.unpack(w)
}

// rawStep is how much is read of a body before its bytes are counted again.
const rawStep = 64 << 10

// readRaw reads the body within a limit, or the rest of it.
func (i *intakeRequest) readRaw(limit int64) error {
	if i.request.ContentLength > limit {
		return tooLarge("The body is over %d bytes.", limit)
	}
	for more := true; more; {
		var err error
		if more, err = i.readSome(limit); err != nil {
			return err
		}
	}
	return nil
}

// readSome reads the next bytes of the body and says whether there may be more.
func (i *intakeRequest) readSome(limit int64) (more bool, err error) {
	step := min(rawStep, limit+1-int64(i.raw.Len()))
	expected := step
	if i.request.ContentLength >= 0 {
		expected = min(step, i.request.ContentLength-int64(i.raw.Len()))
	}
	if err := i.stay.read(i.request.Context(), expected); err != nil {
		return false, err
	}
	i.limited = io.LimitedReader{R: i.request.Body, N: step}
	if _, err := i.raw.ReadFrom(&i.limited); err != nil {
		return false, svc.Invalid(svc.FieldError{Code: "unreadable_body", Message: "The body ended early."})
	}
	if int64(i.raw.Len()) > limit {
		return false, tooLarge("The body is over %d bytes.", limit)
	}
	i.body = i.raw.Bytes()
	return i.limited.N <= 0, nil
}

func tooLarge(format string, args ...any) error { return svc.Errorf(svc.CodeTooLarge, format, args...) }

// Of small bodies, those below smallBody cost too little to wait for a processor; the items
// of one take itemsShare times its bytes, itemsBytes at most.
const (
	smallBody  = 16 << 10
	itemsShare = 32
	itemsBytes = 1 << 20
)

// unpack takes what the request needs to be decoded, and undoes the content encoding.
func (i *intakeRequest) unpack(w weight) error {
	size, window := i.unpackedSize()
	taken := (int64(w)+1)*size + window + min(itemsShare*size, itemsBytes)
	if err := i.stay.work(i.request.Context(), taken, size > smallBody); err != nil {
		return err
	}
	inflated, err := i.inflate(int(size), w, svc.MaxInflatedBytes)
	if err == nil && inflated != nil {
		i.body = inflated
	}
	return err
}

// unpackedSize is how long the body says that it is without its encoding, or else a guess,
// and what its reader keeps.
func (i *intakeRequest) unpackedSize() (size, window int64) {
	const usual = 8
	size = int64(len(i.body))
	switch i.encoding() {
	case "":
		return size, 0
	case "gzip":
		if len(i.body) > 4 {
			size = max(size, int64(binary.LittleEndian.Uint32(i.body[len(i.body)-4:])))
		}
	case "zstd":
		size, window = usual*size, zstdWindow
		var header zstd.Header
		if header.Decode(i.body[:min(len(i.body), zstd.HeaderMaxSize)]) == nil {
			window = int64(min(header.WindowSize, zstdWindow))
			if header.HasFCS {
				size = int64(min(header.FrameContentSize, svc.MaxInflatedBytes))
			}
		}
	case "br":
		size, window = usual*size, brotliWindow
	default:
		size *= usual
	}
	return min(size, svc.MaxInflatedBytes), window
}

// The windows that the readers keep.
const (
	zstdWindow   = 8 << 20
	brotliWindow = 16 << 20
)

// encoding returns the content encoding, empty where there is none. A gzip body is
// recognised by its first bytes as well, since some clients do not name it.
func (i *intakeRequest) encoding() string {
	encoding := headerOf(i.request, "Content-Encoding")
	isGzip := len(i.body) > 2 && i.body[0] == 0x1f && i.body[1] == 0x8b
	switch {
	case encoding == "x-gzip", (encoding == "" || encoding == "identity") && isGzip:
		return "gzip"
	case encoding == "identity":
		return ""
	}
	return encoding
}

// inflater returns what undoes the content encoding, nil where there is none.
func (i *intakeRequest) inflater() (io.ReadCloser, error) {
	packed := bytes.NewReader(i.body)
	switch encoding := i.encoding(); encoding {
	case "":
		return nil, nil
	case "gzip":
		if unzip, err := gzip.NewReader(packed); err == nil {
			return unzip, nil
		}
		return nil, badEncoding("gzip")
	case "zstd":
		unzip, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(svc.MaxInflatedBytes), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, badEncoding("zstd")
		}
		return unzip.IOReadCloser(), nil
	case "deflate":
		unzip, err := zlib.NewReader(packed)
		if err != nil {
			return nil, badEncoding("deflate")
		}
		return unzip, nil
	case "br":
		return io.NopCloser(brotli.NewReader(packed)), nil
	default:
		return nil, svc.Errorf(svc.CodeUnsupportedMedia, "The content encoding %q is not accepted; send gzip, zstd, br, deflate or none.", encoding)
	}
}

// inflate undoes the content encoding within a limit. Room was taken for a body of size
// bytes; what is over takes more. It returns nil where there is no encoding.
func (i *intakeRequest) inflate(size int, w weight, limit int) ([]byte, error) {
	reader, err := i.inflater()
	if reader == nil || err != nil {
		return nil, err
	}
	defer reader.Close()
	out := i.inflated[:0]
	for {
		if len(out) == cap(out) {
			larger := min(max(2*cap(out), size+1, rawStep), limit+1)
			if over := larger - max(size+1, cap(out)); over > 0 {
				if err := i.stay.grow((int64(w) + 1) * int64(over)); err != nil {
					return nil, err
				}
			}
			out = append(make([]byte, 0, larger), out...)
		}
		n, err := reader.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		i.inflated = out
		switch {
		case len(out) > limit, errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
			return out, tooLarge("The body inflates to more than %d bytes.", limit)
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, badEncoding(i.encoding())
		}
	}
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
	if err := i.stay.belong(i.request.Context(), i.collector.AppID); err != nil {
		return err
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
