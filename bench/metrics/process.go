package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// kind is the kind of a metric of the load. Of five metrics, three are counters, one is a gauge, and one a histogram
// with the default bounds of OpenTelemetry's SDKs.
type kind int

const (
	counter kind = iota
	gauge
	histogram
)

// seriesPerMetric is the number of series of a metric in a process.
const seriesPerMetric = 20

func kindOf(metric int) kind { return [...]kind{counter, counter, counter, gauge, histogram}[metric%5] }

func nameOf(metric int) string {
	return fmt.Sprintf("bench.%s.%02d", [...]string{"counter", "gauge", "histogram"}[kindOf(metric)], metric)
}

func defaultBounds() []float64 {
	return []float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}
}

// process is an application that exports its metrics by OTLP like an SDK: cumulative, with three attributes per point,
// and all series in turn, a number per request.
type process struct {
	random   *rand.Rand
	resource []byte
	startNs  uint64
	series   []reached
	next     int
	bounds   []byte
	point    []byte
	metric   []byte
	metrics  []byte
}

// reached is the last value of a series.
type reached struct {
	attributes []byte
	sum        float64
	counts     [16]uint64
}

func newProcess(number, series int, began time.Time) *process {
	p := &process{
		random: rand.New(rand.NewPCG(6, uint64(number))), startNs: uint64(began.UnixNano()), series: make([]reached, series),
		resource: appendAttribute(appendAttribute(appendAttribute(nil, 1, "service.name", "shop"), 1, "host.name", "node-"+strconv.Itoa(number)), 1, "telemetry.sdk.name", "opentelemetry"),
	}
	for _, bound := range defaultBounds() {
		p.bounds = binary.LittleEndian.AppendUint64(p.bounds, math.Float64bits(bound))
	}
	for n := range p.series {
		field := protowire.Number(7) // attributes of a number
		if kindOf(n/seriesPerMetric) == histogram {
			field = 9
		}
		at := n % seriesPerMetric
		attributes := appendAttribute(nil, field, "http.route", "/api/items/{id}/part-"+strconv.Itoa(at%5))
		attributes = appendAttribute(attributes, field, "http.request.method", []string{"GET", "POST"}[at/5%2])
		p.series[n].attributes = appendAttribute(attributes, field, "http.response.status_code", []string{"200", "404"}[at/10])
	}
	return p
}

// appendAttribute appends a KeyValue of a text as a field.
func appendAttribute(out []byte, field protowire.Number, key, value string) []byte {
	text := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), value)
	pair := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), key)
	pair = appendMessage(pair, 2, text)
	return appendMessage(out, field, pair)
}

func appendMessage(out []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(out, field, protowire.BytesType), message)
}

func appendFixed(out []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(out, field, protowire.Fixed64Type), value)
}

// appendRequest appends an ExportMetricsServiceRequest with the next size series, each with new values.
func (p *process) appendRequest(out []byte, size int, ts time.Time) []byte {
	p.metrics = appendMessage(p.metrics[:0], 1, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "bench"))
	for size > 0 {
		metric := p.next / seriesPerMetric
		points := min(size, seriesPerMetric-p.next%seriesPerMetric, len(p.series)-p.next)
		p.appendMetric(metric, points, uint64(ts.UnixNano()))
		p.next, size = (p.next+points)%len(p.series), size-points
	}
	resource := appendMessage(nil, 1, p.resource)
	resource = appendMessage(resource, 2, p.metrics) // the scope with its metrics
	return appendMessage(out, 1, resource)
}

// appendMetric appends a metric with the next points.
func (p *process) appendMetric(metric, points int, ns uint64) {
	data := p.metric[:0]
	for n := range points {
		p.appendPoint(kindOf(metric), &p.series[p.next+n], ns)
		data = appendMessage(data, 1, p.point)
	}
	unit, field := "1", protowire.Number(7)
	switch kindOf(metric) {
	case counter:
		data = append(data, 2<<3, 2, 3<<3, 1) // cumulative, monotonic
	case gauge:
		unit, field = "By", 5
	case histogram:
		unit, field = "ms", 9
		data = append(data, 2<<3, 2)
	}
	p.metric = data
	message := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), nameOf(metric))
	message = protowire.AppendString(protowire.AppendTag(message, 3, protowire.BytesType), unit)
	p.metrics = appendMessage(p.metrics, 2, appendMessage(message, field, data))
}

// appendPoint advances a series and appends its data point.
func (p *process) appendPoint(kind kind, s *reached, ns uint64) {
	p.point = appendFixed(append(p.point[:0], s.attributes...), 2, p.startNs)
	p.point = appendFixed(p.point, 3, ns)
	switch kind {
	case counter:
		s.sum += float64(1 + p.random.IntN(9))
		p.point = appendFixed(p.point, 4, math.Float64bits(s.sum))
	case gauge:
		s.sum = float64(p.random.IntN(1_000_000))
		p.point = appendFixed(p.point, 4, math.Float64bits(s.sum))
	case histogram:
		p.appendHistogram(s)
	}
}

func (p *process) appendHistogram(s *reached) {
	bounds := defaultBounds()
	for range 1 + p.random.IntN(4) {
		value := math.Round(80 * math.Exp(p.random.NormFloat64()))
		s.sum += value
		bucket := 0
		for bucket < len(bounds) && value > bounds[bucket] {
			bucket++
		}
		s.counts[bucket]++
	}
	p.point = appendFixed(p.point, 4, s.count())
	p.point = appendFixed(p.point, 5, math.Float64bits(s.sum))
	p.point = protowire.AppendTag(p.point, 6, protowire.BytesType)
	p.point = protowire.AppendVarint(p.point, uint64(8*len(s.counts)))
	for _, n := range s.counts {
		p.point = binary.LittleEndian.AppendUint64(p.point, n)
	}
	p.point = appendMessage(p.point, 7, p.bounds)
}

func (s *reached) count() uint64 {
	var all uint64
	for _, n := range s.counts {
		all += n
	}
	return all
}
