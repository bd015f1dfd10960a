package ingest

import (
	"errors"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"svc/domain/metric"
	"svc/protos"
)

// remoteSeries is one series of a request of remote write.
type remoteSeries struct {
	labels     []metric.Label
	samples    []remoteSample
	histograms []remoteHistogram
	exemplars  int
	kind       uint64
	unit       string
	createdMs  int64
}

type remoteSample struct {
	value float64
	tsMs  int64
}

// remoteHistogram is a native histogram. good is true if its buckets are exponential and counted in whole numbers;
// others are not read.
type remoteHistogram struct {
	point *protos.MetricPoint
	tsMs  int64
	gauge bool
	good  bool
}

var (
	errRemoteWire = errors.New("the message is cut off or malformed")
	errRemoteRef  = errors.New("a reference to a symbol leads nowhere")
	errRemoteText = errors.New("a text is not valid UTF-8")
)

// field is one field of a message: number contains varints and fixed numbers, bytes the content of a field with a
// length.
type field struct {
	number uint64
	bytes  []byte
}

func (f field) double() float64 { return math.Float64frombits(f.number) }

// eachField calls read with the fields of a message.
func eachField(message []byte, read func(number int, f field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errRemoteWire
		}
		message = message[n:]
		var f field
		switch kind {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			f.number, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		case protowire.Fixed32Type:
			_, n = protowire.ConsumeFixed32(message)
		default: // Groups may be nested; no version of the protocol uses them.
			return errRemoteWire
		}
		if n < 0 {
			return errRemoteWire
		}
		message = message[n:]
		if err := read(int(number), f); err != nil {
			return err
		}
	}
	return nil
}

// numbersOf returns a repeated number, packed or not.
func numbersOf(into []uint64, f field) ([]uint64, error) {
	if f.bytes == nil {
		return append(into, f.number), nil
	}
	for packed := f.bytes; len(packed) > 0; {
		number, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return nil, errRemoteWire
		}
		into, packed = append(into, number), packed[n:]
	}
	return into, nil
}

// decodeRemote reads a request of remote write of either version.
func decodeRemote(body []byte, version2 bool) ([]remoteSeries, error) {
	var series []remoteSeries
	var symbols []string
	const seriesV1, symbolsV2, seriesV2 = 1, 4, 5
	err := eachField(body, func(number int, f field) error {
		switch {
		case version2 && number == symbolsV2:
			symbols = append(symbols, string(f.bytes))
			if !utf8.Valid(f.bytes) {
				return errRemoteText
			}
		case version2 && number == seriesV2, !version2 && number == seriesV1:
			series = append(series, remoteSeries{})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Symbols may come after the series that use them.
	at := 0
	err = eachField(body, func(number int, f field) error {
		switch {
		case version2 && number == seriesV2:
			at++
			return series[at-1].readV2(f.bytes, symbols)
		case !version2 && number == seriesV1:
			at++
			return series[at-1].readV1(f.bytes)
		}
		return nil
	})
	return series, err
}

func (s *remoteSeries) readV1(message []byte) error {
	const labels, samples, exemplars, histograms = 1, 2, 3, 4
	return eachField(message, func(number int, f field) error {
		switch number {
		case labels:
			var label metric.Label
			err := eachField(f.bytes, func(number int, f field) error {
				if !utf8.Valid(f.bytes) {
					return errRemoteText
				}
				switch number {
				case 1:
					label.Key = string(f.bytes)
				case 2:
					label.Value = string(f.bytes)
				}
				return nil
			})
			s.labels = append(s.labels, label)
			return err
		case samples:
			return s.readSample(f.bytes)
		case exemplars:
			s.exemplars++
		case histograms:
			return s.readHistogram(f.bytes)
		}
		return nil
	})
}

func (s *remoteSeries) readV2(message []byte, symbols []string) error {
	symbol := func(ref uint64) (string, error) {
		if ref >= uint64(len(symbols)) {
			return "", errRemoteRef
		}
		return symbols[ref], nil
	}
	var refs []uint64
	const labels, samples, histograms, exemplars, metadata, created = 1, 2, 3, 4, 5, 6
	err := eachField(message, func(number int, f field) (err error) {
		switch number {
		case labels:
			refs, err = numbersOf(refs, f)
		case samples:
			err = s.readSample(f.bytes)
		case histograms:
			err = s.readHistogram(f.bytes)
		case exemplars:
			s.exemplars++
		case metadata:
			err = eachField(f.bytes, func(number int, f field) (err error) {
				switch number {
				case 1:
					s.kind = f.number
				case 4:
					s.unit, err = symbol(f.number)
				}
				return err
			})
		case created:
			s.createdMs = int64(f.number)
		}
		return err
	})
	if err != nil || len(refs)%2 != 0 {
		return errors.Join(err, map[bool]error{true: errRemoteRef}[len(refs)%2 != 0])
	}
	for n := 0; n < len(refs); n += 2 {
		key, badKey := symbol(refs[n])
		value, badValue := symbol(refs[n+1])
		if err := errors.Join(badKey, badValue); err != nil {
			return err
		}
		s.labels = append(s.labels, metric.Label{Key: key, Value: value})
	}
	return nil
}

func (s *remoteSeries) readSample(message []byte) error {
	var sample remoteSample
	err := eachField(message, func(number int, f field) error {
		switch number {
		case 1:
			sample.value = f.double()
		case 2:
			sample.tsMs = int64(f.number)
		}
		return nil
	})
	s.samples = append(s.samples, sample)
	return err
}

// remoteBuckets are the buckets of one sign: spans of present ones and the difference of each count to the one before.
type remoteBuckets struct {
	spans  [][2]int64
	deltas []uint64
}

func (b *remoteBuckets) readSpan(message []byte) error {
	var span [2]int64
	err := eachField(message, func(number int, f field) error {
		switch number {
		case 1:
			span[0] = protowire.DecodeZigZag(f.number)
		case 2:
			span[1] = int64(f.number)
		}
		return nil
	})
	b.spans = append(b.spans, span)
	return err
}

// dense returns the counts from an offset on, including gaps. Bucket i of Prometheus ends where bucket i of
// OpenTelemetry begins. It returns false if there are too many.
func (b *remoteBuckets) dense() (offset int32, counts []uint64, ok bool) {
	var place, count int64
	next := 0
	for n, span := range b.spans {
		if n == 0 {
			offset = int32(span[0]) - 1
		}
		if n > 0 {
			place += span[0]
		}
		if span[1] < 0 || place < 0 || place+span[1] > metric.MaxMetricValues || span[0] > math.MaxInt32/2 || span[0] < math.MinInt32/2 {
			return 0, nil, false
		}
		for range span[1] {
			if next == len(b.deltas) {
				return 0, nil, false
			}
			count += protowire.DecodeZigZag(b.deltas[next])
			next++
			if count < 0 {
				return 0, nil, false
			}
			for int64(len(counts)) <= place {
				counts = append(counts, 0)
			}
			counts[place] = uint64(count)
			place++
		}
	}
	return offset, counts, next == len(b.deltas)
}

func (s *remoteSeries) readHistogram(message []byte) error {
	h := remoteHistogram{point: &protos.MetricPoint{Histogram: &protos.Histogram{Exponential: true}}, good: true}
	var positive, negative remoteBuckets
	err := eachField(message, func(number int, f field) (err error) {
		switch number {
		case 1:
			h.point.Count = f.number
		case 3:
			h.point.Sum = f.double()
		case 4:
			h.point.Histogram.Scale = int32(protowire.DecodeZigZag(f.number))
		case 6:
			h.point.Histogram.Zero = f.number
		case 8:
			err = negative.readSpan(f.bytes)
		case 9:
			negative.deltas, err = numbersOf(negative.deltas, f)
		case 11:
			err = positive.readSpan(f.bytes)
		case 12:
			positive.deltas, err = numbersOf(positive.deltas, f)
		case 14:
			const gaugeHint = 3
			h.gauge = f.number == gaugeHint
		case 15:
			h.tsMs = int64(f.number)
		case 2, 7, 10, 13, 16: // These are fractions and custom buckets.
			h.good = false
		}
		return err
	})
	if err != nil {
		return err
	}
	var goodPositive, goodNegative bool
	h.point.Histogram.PositiveOffset, h.point.Histogram.Positive, goodPositive = positive.dense()
	h.point.Histogram.NegativeOffset, h.point.Histogram.Negative, goodNegative = negative.dense()
	h.good = h.good && goodPositive && goodNegative
	s.histograms = append(s.histograms, h)
	return nil
}
