package ingest

import (
	stdjson "encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/protos"
)

// Types of items with metric points.
const (
	itemMetric itemKind = "metric"
	itemVital  itemKind = "vital"
)

// Cardinality bounds the number of series of an environment.
type Cardinality interface {
	// Admit reports whether a point of a series may be accepted: the series is known, or its environment has fewer than
	// limit.
	Admit(environment, series uint64, limit int, now time.Time) bool
}

// metricItem is one metric point as a client sends it. Unknown fields are
// ignored.
type metricItem struct {
	Type     string                        `json:"type" doc:"metric or vital; needed in a batch."`
	ID       string                        `json:"id" doc:"The client's own id of the point; the same id is stored once."`
	Ts       string                        `json:"ts" doc:"When it was measured, ISO 8601; the arrival where it is missing."`
	Name     string                        `json:"name" doc:"The metric's name; of a vital LCP, CLS, INP, FCP or TTFB."`
	Kind     metric.Kind                   `json:"kind" open:"true" doc:"counter, gauge or histogram. A counter's value is by how much it was raised. A vital has no kind."`
	Unit     string                        `json:"unit"`
	Value    *float64                      `json:"value" doc:"One observation. This, values or count is needed."`
	Values   []float64                     `json:"values" doc:"Several observations, at most 1000."`
	Count    *uint64                       `json:"count" doc:"How many observations a histogram holds."`
	Sum      float64                       `json:"sum"`
	Min      *float64                      `json:"min"`
	Max      *float64                      `json:"max"`
	Buckets  metricBuckets                 `json:"buckets"`
	Labels   map[string]stdjson.RawMessage `json:"labels" doc:"Texts, numbers and booleans by name."`
	Path     string                        `json:"path" doc:"The page of a vital; found in url where it is missing."`
	URL      string                        `json:"url"`
	SentAt   string                        `json:"sentAt"`
	WriteKey string                        `json:"writeKey"`
}

// metricBuckets are the buckets of a histogram.
type metricBuckets struct {
	Bounds []float64 `json:"bounds" doc:"Upper bounds, ascending; the last bucket has none."`
	Counts []uint64  `json:"counts" doc:"Observations in each bucket alone, one more than bounds."`
}

type metricInput struct {
	Beacon string     `query:"beacon" doc:"1 answers 204 without a body, for beacons."`
	Key    string     `query:"key" doc:"The ingest key, where no header can be set."`
	Body   metricItem `body:"json"`
}

// acceptMetric checks one metric item and emits its point, or rejects it.
func (sub *submission) acceptMetric(index int, shared *item, kind itemKind) {
	if sub.switchedOff(index, ingest.SignalMetrics) {
		return
	}
	raw, err := sub.rawItem(index)
	var it metricItem
	if err == nil {
		err = parse(raw, &it)
	}
	if err != nil {
		sub.reject(index, "invalid_type", wrongType("The item", err))
		return
	}
	event := &sub.event
	event.Reset()
	sub.place(event, shared)
	if code, message := sub.stamp(event, shared); code != "" {
		sub.reject(index, code, message)
		return
	}
	point := &protos.MetricPoint{Id: it.ID, TsMs: event.TsMs, Name: it.Name, Kind: string(it.Kind), Unit: it.Unit, Min: it.Min, Max: it.Max}
	labels := labelsOf(it.Labels)
	if kind == itemVital {
		event.Ip, event.UserAgent = sub.remoteIP, sub.userAgent
		sub.contextualise(event, shared)
		if sub.exclude(ingest.SignalMetrics, event) {
			return
		}
		if device := metric.VitalDevice(event.UserAgent); device != "" {
			labels = append(labels, metric.Label{Key: "device", Value: device})
		}
		point.Kind, point.Unit = string(metric.Vital), metric.VitalUnit(it.Name)
		labels = append(labels, metric.Label{Key: "path", Value: event.Path})
	}
	code, message := it.check(kind)
	if code == "" {
		it.fill(point)
		if point.Id == "" {
			point.Id, err = sub.pointID(index, &it, kind)
		}
		if code, message = "invalid_value", "The item cannot be encoded."; err == nil {
			code, message = sub.emitPoint(point, labels)
		}
	}
	if code != "" {
		sub.reject(index, code, message)
	}
}

// check returns the code and message of the refusal of an item, empty if it is accepted.
func (it *metricItem) check(kind itemKind) (code, message string) {
	forms := 0
	for _, sent := range []bool{it.Value != nil, len(it.Values) > 0, it.Count != nil} {
		if sent {
			forms++
		}
	}
	switch {
	case kind == itemVital && !slices.Contains(metric.Vitals(), it.Name):
		return "invalid_value", "name is no web vital; allowed are " + strings.Join(metric.Vitals(), ", ") + "."
	case kind == itemMetric && it.Kind == "":
		return "missing_value", "kind is missing; allowed are counter, gauge and histogram."
	case kind == itemMetric && !slices.Contains(metric.Kinds(), it.Kind):
		return "invalid_value", "kind is unknown; allowed are counter, gauge and histogram."
	case len(it.ID) > event.MaxIDBytes || strings.IndexByte(it.ID, 0) >= 0:
		return "too_long", "id is over " + strconv.Itoa(event.MaxIDBytes) + " bytes, or holds a NUL character."
	case forms != 1:
		return "missing_value", "Exactly one of value, values and count is needed."
	case kind == itemVital && (it.Value != nil && *it.Value < 0 || slices.ContainsFunc(it.Values, func(x float64) bool { return x < 0 })):
		return "invalid_value", "A web vital is not below 0."
	case it.Count != nil && it.Kind != metric.MetricHistogram:
		return "invalid_value", "count is for histograms alone."
	case it.Count != nil && *it.Count == 0:
		return "invalid_value", "count is 0."
	}
	return "", ""
}

// fill sets the numbers of the item's point.
func (it *metricItem) fill(point *protos.MetricPoint) {
	switch {
	case it.Value != nil:
		point.Values = []float64{*it.Value}
	case it.Count == nil:
		point.Values = it.Values
	default:
		point.Count, point.Sum = *it.Count, it.Sum
		point.Histogram = &protos.Histogram{Bounds: it.Buckets.Bounds, Buckets: it.Buckets.Counts}
	}
}

// labelsOf reads labels with texts, numbers or booleans as values.
func labelsOf(raw map[string]stdjson.RawMessage) []metric.Label {
	labels := make([]metric.Label, 0, len(raw)+1)
	for key, text := range raw {
		if value, ok := tagText(text); ok {
			labels = append(labels, metric.Label{Key: key, Value: value})
		}
	}
	return labels
}

// emitPoint completes a point, checks it, and appends it to the payload of its metric's partition. It returns the code
// and message of a refusal.
func (sub *submission) emitPoint(point *protos.MetricPoint, labels []metric.Label) (code, message string) {
	if !slices.Contains(sub.collector.Modules, domain.ModuleMetrics) {
		return string(domain.CodeModuleDisabled), "The application has switched the module metrics off."
	}
	if !sub.telemetry.Policy.Metrics.Enabled {
		return ingest.CodeSignalOff, "The environment's telemetry policy has switched metrics off."
	}
	if sub.judge(ingest.SignalMetrics, 0) != "" {
		return ingest.CodeOverBudget, "The environment's monthly budget of metric points is used up."
	}
	return sub.putPoint(point, labels)
}

// putPoint does the same as emitPoint, but checks neither the application's modules nor whether its policy accepts
// metrics.
func (sub *submission) putPoint(point *protos.MetricPoint, labels []metric.Label) (code, message string) {
	policy := &sub.telemetry.Policy.Metrics
	labels = metric.NormaliseLabels(labels, policy.LabelDenylist)
	if len(labels) > policy.MaxLabelsPerSeries {
		return "too_many_labels", "The point has more than " + strconv.Itoa(policy.MaxLabelsPerSeries) + " labels."
	}
	if code, message = checkPointWords(point, labels); code != "" {
		return code, message
	}
	if code, message = checkPointNumbers(point); code != "" {
		return code, message
	}
	point.Environment, point.ReceivedMs = sub.collector.Environment.Number, sub.now.UnixMilli()
	point.RetentionDays = uint32(sub.collector.RetentionDays)
	for _, label := range labels {
		point.Labels = append(point.Labels, label.Key, label.Value)
	}
	point.Series = protos.SeriesNumber(point.Environment, point.Name, point.Labels)
	if !sub.collect.Cardinality.Admit(point.Environment, point.Series, policy.MaxSeries, sub.now) {
		return "too_many_series", "The environment has " + strconv.Itoa(policy.MaxSeries) + " series already; send fewer different labels."
	}
	partition := sub.collect.Shape.Of(point.Environment, protos.PartitionOfMetric(point.Environment, point.Name, sub.collect.Shape.Partitions))
	err := sub.put(partition, point.SizeVT(), func(payload []byte) ([]byte, error) { return protos.AppendPoint(payload, point) })
	if err != nil {
		return "invalid_value", "The point cannot be encoded."
	}
	return "", ""
}

// checkPointWords checks the texts of a point against their limits.
func checkPointWords(point *protos.MetricPoint, labels []metric.Label) (code, message string) {
	if point.Name == "" {
		return "missing_value", "name is missing."
	}
	words := [...]struct {
		what, value string
		limit       int
	}{{"name", point.Name, event.MaxNameBytes}, {"unit", point.Unit, metric.MaxMetricUnit}}
	for _, word := range words {
		if code, message = checkPointWord(word.what, word.value, word.limit); code != "" {
			return code, message
		}
	}
	for _, label := range labels {
		if label.Key == "" {
			return "invalid_value", "A label has no name."
		}
		if code, message = checkPointWord("A label's name", label.Key, metric.MaxLabelKey); code != "" {
			return code, message
		}
		if code, message = checkPointWord("A label's value", label.Value, metric.MaxLabelValue); code != "" {
			return code, message
		}
	}
	return "", ""
}

func checkPointWord(what, value string, limit int) (code, message string) {
	switch {
	case len(value) > limit:
		return "too_long", what + " is over " + strconv.Itoa(limit) + " bytes."
	case strings.IndexByte(value, 0) >= 0:
		return "invalid_value", what + " holds a NUL character."
	}
	return "", ""
}

// checkPointNumbers refuses numbers that cannot be stored or added up.
func checkPointNumbers(point *protos.MetricPoint) (code, message string) {
	bad := infinite(point.Sum) || slices.ContainsFunc(point.Values, infinite)
	for _, extreme := range [...]*float64{point.Min, point.Max} {
		bad = bad || extreme != nil && infinite(*extreme)
	}
	if bad {
		return "invalid_value", "A number is not finite."
	}
	h := point.Histogram
	if h == nil {
		if len(point.Values) > metric.MaxMetricValues {
			return "too_many", "values has more than " + strconv.Itoa(metric.MaxMetricValues) + " numbers."
		}
		return "", ""
	}
	histogram := metric.Histogram{
		Bounds: h.Bounds, Buckets: h.Buckets, Exponential: h.Exponential, Scale: h.Scale, Zero: h.Zero,
		PositiveOffset: h.PositiveOffset, Positive: h.Positive, NegativeOffset: h.NegativeOffset, Negative: h.Negative,
	}
	switch {
	case max(len(h.Buckets), len(h.Positive), len(h.Negative)) > metric.MaxMetricValues:
		return "too_many", "The histogram has more than " + strconv.Itoa(metric.MaxMetricValues) + " buckets."
	case !histogram.Valid():
		return "invalid_value", "The histogram's bounds do not ascend, or do not suit its counts."
	case len(h.Buckets) > 0 || h.Exponential:
		if histogram.Count() != point.Count {
			return "invalid_value", "The histogram's buckets do not add up to its count."
		}
	}
	return "", ""
}

// infinite reports whether a number cannot be added up.
func infinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
