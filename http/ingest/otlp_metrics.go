package ingest

import (
	"encoding/base32"
	"encoding/binary"
	stdjson "encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/zeebo/xxh3"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	otlpcommon "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"svc/domain/event"
	"svc/domain/metric"
	"svc/protos"
)

// resourceLabels lists the attributes of a resource that become labels. The others identify processes, and would make a
// new series for each process.
func resourceLabels() []string {
	return []string{"service.name", "deployment.environment.name", "host.name"}
}

// otlpStream contains the common data of the points of one metric.
type otlpStream struct {
	name, unit string
	labels     []metric.Label
	sender     uint64
}

// acceptOTLP checks every data point of a request and emits the accepted ones.
func (sub *submission) acceptOTLP(request *collectmetrics.ExportMetricsServiceRequest) {
	for _, resource := range request.GetResourceMetrics() {
		var labels []metric.Label
		for _, attribute := range resource.GetResource().GetAttributes() {
			if slices.Contains(resourceLabels(), attribute.GetKey()) {
				labels = append(labels, labelOf(attribute))
			}
		}
		resourceNumber := numberOf(resource.GetResource())
		for _, scope := range resource.GetScopeMetrics() {
			sender := resourceNumber ^ numberOf(scope.GetScope())<<1
			for _, metric := range scope.GetMetrics() {
				sub.acceptOTLPMetric(&otlpStream{name: metric.GetName(), unit: metric.GetUnit(), labels: labels, sender: sender}, metric)
			}
		}
	}
}

// numberOf returns a hash of a message's content, 0 for an empty one. Equal messages of one sender have equal bytes.
func numberOf(message proto.Message) uint64 {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil || len(encoded) == 0 {
		return 0
	}
	return xxh3.Hash(encoded)
}

// labelOf makes a label of an attribute: a text unchanged, anything else as JSON.
func labelOf(attribute *otlpcommon.KeyValue) metric.Label {
	label := metric.Label{Key: attribute.GetKey()}
	switch value := attribute.GetValue().GetValue().(type) {
	case *otlpcommon.AnyValue_StringValue:
		label.Value = value.StringValue
	case nil:
	default:
		if text, err := stdjson.Marshal(plainValue(attribute.GetValue(), 0)); err == nil {
			label.Value = string(text)
		}
	}
	return label
}

// maxAttributeDepth bounds the nesting to which attributes are read.
const maxAttributeDepth = 8

// plainValue returns an attribute's value in the form that encodes as plain JSON.
func plainValue(value *otlpcommon.AnyValue, depth int) any {
	if depth > maxAttributeDepth {
		return nil
	}
	switch value := value.GetValue().(type) {
	case *otlpcommon.AnyValue_StringValue:
		return value.StringValue
	case *otlpcommon.AnyValue_BoolValue:
		return value.BoolValue
	case *otlpcommon.AnyValue_IntValue:
		return value.IntValue
	case *otlpcommon.AnyValue_DoubleValue:
		if math.IsNaN(value.DoubleValue) || math.IsInf(value.DoubleValue, 0) {
			return strconv.FormatFloat(value.DoubleValue, 'g', -1, 64)
		}
		return value.DoubleValue
	case *otlpcommon.AnyValue_BytesValue:
		return value.BytesValue
	case *otlpcommon.AnyValue_ArrayValue:
		list := []any{}
		for _, one := range value.ArrayValue.GetValues() {
			list = append(list, plainValue(one, depth+1))
		}
		return list
	case *otlpcommon.AnyValue_KvlistValue:
		object := map[string]any{}
		for _, one := range value.KvlistValue.GetValues() {
			object[one.GetKey()] = plainValue(one.GetValue(), depth+1)
		}
		return object
	}
	return nil
}

// acceptOTLPMetric emits the points of a metric by its kind.
func (sub *submission) acceptOTLPMetric(stream *otlpStream, m *otlp.Metric) {
	switch data := m.GetData().(type) {
	case *otlp.Metric_Gauge:
		for _, p := range data.Gauge.GetDataPoints() {
			sub.acceptNumber(stream, p, metric.Gauge, otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_UNSPECIFIED)
		}
	case *otlp.Metric_Sum:
		kind, temporality := metric.Counter, data.Sum.GetAggregationTemporality()
		if !data.Sum.GetIsMonotonic() && temporality == otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
			kind, temporality = metric.Gauge, otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_UNSPECIFIED
		}
		for _, p := range data.Sum.GetDataPoints() {
			if data.Sum.GetIsMonotonic() && numberOfPoint(p) < 0 {
				sub.reject(0, "invalid_value", "A monotonic sum is below 0.")
				continue
			}
			sub.acceptNumber(stream, p, kind, temporality)
		}
	case *otlp.Metric_Histogram:
		for _, p := range data.Histogram.GetDataPoints() {
			point := sub.newPoint()
			point.Count, point.Sum, point.Min, point.Max = p.GetCount(), p.GetSum(), p.Min, p.Max
			point.Histogram = &protos.Histogram{Bounds: p.GetExplicitBounds(), Buckets: p.GetBucketCounts()}
			sub.acceptOTLPPoint(stream, point, p, metric.MetricHistogram, data.Histogram.GetAggregationTemporality())
		}
	case *otlp.Metric_ExponentialHistogram:
		for _, p := range data.ExponentialHistogram.GetDataPoints() {
			point := sub.newPoint()
			point.Count, point.Sum, point.Min, point.Max = p.GetCount(), p.GetSum(), p.Min, p.Max
			point.Histogram = &protos.Histogram{
				Exponential: true, Scale: p.GetScale(), Zero: p.GetZeroCount(),
				PositiveOffset: p.GetPositive().GetOffset(), Positive: p.GetPositive().GetBucketCounts(),
				NegativeOffset: p.GetNegative().GetOffset(), Negative: p.GetNegative().GetBucketCounts(),
			}
			sub.acceptOTLPPoint(stream, point, p, metric.MetricHistogram, data.ExponentialHistogram.GetAggregationTemporality())
		}
	case *otlp.Metric_Summary:
		for _, p := range data.Summary.GetDataPoints() {
			sub.acceptSummary(stream, p)
		}
	}
}

// otlpPoint has the members that points of all kinds share.
type otlpPoint interface {
	GetAttributes() []*otlpcommon.KeyValue
	GetStartTimeUnixNano() uint64
	GetTimeUnixNano() uint64
	GetFlags() uint32
}

func (sub *submission) acceptNumber(stream *otlpStream, p *otlp.NumberDataPoint, kind metric.Kind, temporality otlp.AggregationTemporality) {
	sub.acceptOTLPPoint(stream, sub.numberPoint(numberOfPoint(p), kind), p, kind, temporality)
}

func numberOfPoint(p *otlp.NumberDataPoint) float64 {
	if whole, ok := p.GetValue().(*otlp.NumberDataPoint_AsInt); ok {
		return float64(whole.AsInt)
	}
	return p.GetAsDouble()
}

// newPoint returns an empty point, which is valid until the next call.
func (sub *submission) newPoint() *protos.MetricPoint {
	labels, values := sub.point.Labels[:0], sub.point.Values[:0]
	sub.point.Reset()
	sub.point.Labels, sub.point.Values = labels, values
	return &sub.point
}

// numberPoint returns a point with a single number: a counter's as a sum, a gauge's as an observation. It is valid
// until the next point.
func (sub *submission) numberPoint(value float64, kind metric.Kind) *protos.MetricPoint {
	point := sub.newPoint()
	if kind == metric.Gauge {
		point.Values = append(point.Values, value)
	} else {
		point.Count, point.Sum = 1, value
	}
	return point
}

// acceptSummary stores the quantiles of a summary as gauges with the label quantile, like Prometheus, and its count and
// sum as counters.
func (sub *submission) acceptSummary(stream *otlpStream, p *otlp.SummaryDataPoint) {
	before := len(sub.rejected)
	for _, q := range p.GetQuantileValues() {
		if math.IsNaN(q.GetValue()) { // The quantile has no observation.
			continue
		}
		part := *stream
		part.labels = append(slices.Clone(stream.labels), metric.Label{Key: "quantile", Value: strconv.FormatFloat(q.GetQuantile(), 'g', -1, 64)})
		sub.acceptOTLPPoint(&part, sub.numberPoint(q.GetValue(), metric.Gauge), p, metric.Gauge, otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_UNSPECIFIED)
	}
	const cumulative = otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	for _, part := range []struct {
		suffix, unit string
		value        float64
	}{{"_count", "1", float64(p.GetCount())}, {"_sum", stream.unit, p.GetSum()}} {
		counter := &otlpStream{name: stream.name + part.suffix, unit: part.unit, labels: stream.labels, sender: stream.sender}
		sub.acceptOTLPPoint(counter, sub.numberPoint(part.value, metric.Counter), p, metric.Counter, cumulative)
	}
	// All of them were one data point.
	sub.rejected = sub.rejected[:min(len(sub.rejected), before+1)]
}

// noRecordedValue is the flag of a point without a value.
const noRecordedValue = uint32(otlp.DataPointFlags_DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK)

// acceptOTLPPoint completes a point and emits it, or rejects it. The answer only counts points, so
// a rejection has no index.
func (sub *submission) acceptOTLPPoint(stream *otlpStream, point *protos.MetricPoint, p otlpPoint, kind metric.Kind, temporality otlp.AggregationTemporality) {
	if p.GetFlags()&noRecordedValue != 0 {
		return
	}
	point.Name, point.Kind, point.Unit, point.Sender = stream.name, string(kind), stream.unit, stream.sender
	if code, message := sub.stampMillis(point, int64(p.GetTimeUnixNano()/uint64(time.Millisecond))); code != "" {
		sub.reject(0, code, message)
		return
	}
	sub.labels = append(sub.labels[:0], stream.labels...)
	for _, attribute := range p.GetAttributes() {
		sub.labels = append(sub.labels, labelOf(attribute))
	}
	switch {
	case kind == metric.Gauge:
		point.Once = true
	case temporality == otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE:
		point.Cumulative, point.StartNs = true, p.GetStartTimeUnixNano()
	case temporality == otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA:
		point.Id = deltaID(stream, sub.labels, p)
	default:
		sub.reject(0, "invalid_value", "The aggregation temporality is neither delta nor cumulative.")
		return
	}
	if code, message := sub.emitPoint(point, sub.labels); code != "" {
		sub.reject(0, code, message)
	}
}

// deltaID derives the id of a difference from its series, sender and span of time, so that a difference that is sent
// again after a lost answer counts once.
func deltaID(stream *otlpStream, labels []metric.Label, p otlpPoint) string {
	h := xxh3.New()
	var number [8]byte
	for _, n := range [...]uint64{stream.sender, p.GetStartTimeUnixNano(), p.GetTimeUnixNano()} {
		binary.LittleEndian.PutUint64(number[:], n)
		_, _ = h.Write(number[:])
	}
	words := []string{stream.name}
	for _, label := range labels {
		words = append(words, label.Key, label.Value)
	}
	for _, word := range words {
		_, _ = h.WriteString(word)
		_, _ = h.Write([]byte{0})
	}
	sum := h.Sum128().Bytes()
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}

// stampMillis sets the time of a measurement: not later than now plus a tolerance, and not earlier than the key's kind
// permits. If the sender states no time, it is the time of arrival.
func (sub *submission) stampMillis(point *protos.MetricPoint, tsMs int64) (code, message string) {
	point.TsMs = sub.now.UnixMilli()
	if tsMs != 0 {
		point.TsMs = min(tsMs, sub.now.Add(event.FutureTolerance).UnixMilli())
	}
	return sub.checkAge(point.TsMs)
}
