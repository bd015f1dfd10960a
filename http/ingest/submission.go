package ingest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/domain/telemetry"
	"svc/http/admission"
	"svc/http/route"
	"svc/protos"
)

// submission is the working memory of one request of any protocol. It is taken from a pool and returned to it. Its
// fields are in the order in which a request fills them.
type submission struct {
	collect *Collect
	writer  *route.Response
	request *http.Request
	now     time.Time
	// reserved is the request's share of the node's memory and processors.
	reserved admission.Reservation

	// From the key: its permissions, and the visitor of the connection, if the connection is a visitor's.
	collector *domain.Collector
	userAgent string
	remoteIP  string

	// The body: as it came, inflated, and the one of the two that is decoded.
	limited  io.LimitedReader
	raw      bytes.Buffer
	inflated []byte
	body     []byte

	// The decoded body. single is true if it is one item; rawItems are the bytes of the items, for errors; debugIDs
	// names the source maps of an error's files.
	envelope envelope
	items    []item
	single   bool
	rawItems []json.RawMessage
	debugIDs map[string]string

	// The item that is being checked: its event or point, which are reused, and their texts. properties are the
	// properties of the event if they had to be rewritten. screen is the text of screenRaw, which items share.
	event      protos.Event
	campaign   protos.Campaign
	point      protos.MetricPoint
	labels     []metric.Label
	properties []byte
	screenRaw  []byte
	screen     string

	// Derived ids: seen counts the items without an id that have the same content, around is the hash of the context
	// that all items share, words is the text that is hashed.
	seen   map[xxh3.Uint128]uint64
	around xxh3.Uint128
	words  []byte

	// The accepted items, by partition, and the rejected ones. touched are the partitions with a payload.
	payloads [][]byte
	touched  []int
	parts    []event.Part
	accepted int
	rejected []ingest.Rejection

	// telemetry is the policy of the environment; signal is the signal of the item that is being checked. named is the
	// environment in a request without a valid key, 0 if it names none. dropped counts the items that the policy drops
	// and the answer counts as accepted; counts are the items that do not enter the log.
	telemetry *telemetry.State
	signal    ingest.Signal
	named     uint64
	dropped   int
	counts    ingest.UsageCounts

	// The answer. answered is the id in the answer to an SDK of Sentry, pause the time that it must wait.
	out      []byte
	answered string
	pause    time.Duration
}

//nolint:gochecknoglobals // a pool is shared by all requests of the process by its nature
var (
	submissionPool = sync.Pool{New: func() any { return &submission{} }}
	jsonType       = []string{"application/json"}
)

// keepBytes bounds the memory that a pooled request retains per buffer.
const keepBytes = 1 << 20

func (sub *submission) reset(c *Collect, w *route.Response, r *http.Request, arrival time.Time) {
	sub.collect, sub.writer, sub.request, sub.now = c, w, r, arrival
	sub.reserved = c.Admission.Reserve("")
	if len(sub.payloads) != c.Shape.Total() {
		sub.payloads = make([][]byte, c.Shape.Total())
	}
}

// release empties the request and returns it to the pool.
func (sub *submission) release() {
	for _, partition := range sub.touched {
		if cap(sub.payloads[partition]) > keepBytes {
			sub.payloads[partition] = nil
		}
		sub.payloads[partition] = sub.payloads[partition][:0]
	}
	clear(sub.items)
	clear(sub.parts)
	clear(sub.seen)
	sub.collect, sub.writer, sub.request, sub.collector, sub.body = nil, nil, nil, nil, nil
	sub.limited.R = nil
	sub.envelope, sub.items, sub.touched, sub.rejected = envelope{}, sub.items[:0], sub.touched[:0], sub.rejected[:0]
	sub.event, sub.campaign, sub.point = protos.Event{}, protos.Campaign{}, protos.MetricPoint{}
	clear(sub.labels[:cap(sub.labels)])
	sub.accepted, sub.userAgent, sub.remoteIP, sub.around = 0, "", "", xxh3.Uint128{}
	sub.telemetry, sub.signal, sub.named, sub.dropped, sub.counts = nil, "", 0, 0, sub.counts[:0]
	sub.rawItems, sub.single, sub.debugIDs, sub.answered, sub.pause = nil, false, nil, "", 0
	if sub.raw.Cap() > keepBytes || cap(sub.inflated) > keepBytes {
		sub.raw, sub.inflated = bytes.Buffer{}, nil
	}
	if cap(sub.properties) > keepBytes || cap(sub.words) > keepBytes {
		sub.properties, sub.words = nil, nil
	}
	sub.raw.Reset()
	sub.reserved.Release()
	submissionPool.Put(sub)
}
