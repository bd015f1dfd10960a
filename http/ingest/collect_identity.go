package ingest

import (
	"bytes"
	"encoding/base32"
	"encoding/binary"
	stdjson "encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/segmentio/encoding/json"
	"github.com/zeebo/xxh3"
)

// An item without an id gets one that is derived from its content. So the same item sent again has the same id, however
// it is serialised and whenever it arrives. The content is every member that the client sent, in the item and in the
// context of its batch; the time is the client's own, before its clock is corrected. An item without a time cannot be
// distinguished from another one with the same content, so each of them gets its own id.

// Prefixes of derived ids.
const (
	eventPrefix = "evt_"
	errorPrefix = "occ_"
	pointPrefix = "pnt_"
)

// eventID derives the id of an event. Events of one request with the same content and time are one event. The item is
// not read afterwards.
func (sub *submission) eventID(index int, it *item, kind itemKind) (string, error) {
	ts := it.Ts
	it.Type, it.Ts, it.SentAt, it.WriteKey = kind, "", "", ""
	sum, err := sub.sumOf(it)
	return sub.derivedID(eventPrefix, sum, ts, index, false), err
}

// errorID derives the id of an error. Equal errors of one request are numbered, because a fault that was reported twice
// counts twice. The item is not read afterwards.
func (sub *submission) errorID(index int, it *errorItem) (string, error) {
	ts := it.Ts
	it.Type, it.Ts, it.SentAt, it.WriteKey = "", "", "", ""
	sum, err := sub.sumOf(it)
	return sub.derivedID(errorPrefix, sum, ts, index, true), err
}

// pointID derives the id of a metric point; equal points are numbered like errors. A point without a time has no id.
// The item is not read afterwards.
func (sub *submission) pointID(index int, it *metricItem, kind itemKind) (string, error) {
	ts := it.Ts
	if ts == "" {
		return "", nil
	}
	it.Type, it.Ts, it.SentAt, it.WriteKey = string(kind), "", "", ""
	sum, err := sub.sumOf(it)
	return sub.derivedID(pointPrefix, sum, ts, index, true), err
}

// sumOf returns 128 bits of an item and the context around it.
func (sub *submission) sumOf(it any) (xxh3.Uint128, error) {
	var err error
	if sub.words, err = json.Append(sub.words[:0], it, 0); err != nil {
		return xxh3.Uint128{}, err
	}
	sum := sumJSON(sub.words)
	if sub.around == (xxh3.Uint128{}) {
		if sub.words, err = json.Append(sub.words[:0], &sub.envelope.Context, 0); err != nil {
			return xxh3.Uint128{}, err
		}
		sub.around = sumJSON(sub.words)
	}
	return joined(sum, sub.around), nil
}

// derivedID makes an id of the content of an item and its time. If twins is true, equal items of a request are
// numbered.
func (sub *submission) derivedID(prefix string, sum xxh3.Uint128, ts string, index int, twins bool) string {
	words := append(sub.words[:0], prefix...)
	words = appendSum(words, sum)
	if at, err := time.Parse(time.RFC3339Nano, ts); err == nil {
		words = binary.LittleEndian.AppendUint64(words, uint64(at.Unix()))
		words = binary.LittleEndian.AppendUint32(words, uint32(at.Nanosecond()))
		if twins {
			words = binary.LittleEndian.AppendUint64(words, sub.twins(xxh3.Hash128(words)))
		}
	} else {
		words = binary.LittleEndian.AppendUint64(words, uint64(sub.now.UnixNano()))
		words = binary.LittleEndian.AppendUint64(words, uint64(index))
		words = append(words, sub.writer.RequestID()...)
	}
	sub.words = words
	named := xxh3.Hash128(words).Bytes()
	return prefix + base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(named[:])
}

// twins returns the number of earlier equal items in the request, and counts this one.
func (sub *submission) twins(said xxh3.Uint128) uint64 {
	if sub.seen == nil {
		sub.seen = map[xxh3.Uint128]uint64{}
	}
	before := sub.seen[said]
	sub.seen[said]++
	return before
}

// maxSumDepth bounds the nesting of a JSON text that is parsed; a deeper one is compared byte by byte.
const maxSumDepth = 64

// sumJSON returns 128 bits of the content of a valid JSON text: spaces, the order of members and the spelling of texts
// and numbers do not count.
func sumJSON(text []byte) xxh3.Uint128 {
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > maxSumDepth && measureJSON(text).depth > maxSumDepth {
		return xxh3.Hash128(text)
	}
	reader := jsonReader{text: text}
	return reader.value()
}

// jsonReader reads a valid JSON text.
type jsonReader struct {
	text []byte
	at   int
}

// next returns the next character that is not white space.
func (r *jsonReader) next() byte {
	for r.text[r.at] == ' ' || r.text[r.at] == '\n' || r.text[r.at] == '\t' || r.text[r.at] == '\r' {
		r.at++
	}
	return r.text[r.at]
}

func (r *jsonReader) value() xxh3.Uint128 {
	switch r.next() {
	case '{':
		return r.object()
	case '[':
		return r.list()
	case '"':
		return r.quoted()
	default:
		return r.bare()
	}
}

// object adds its members up, so that their order does not count.
func (r *jsonReader) object() xxh3.Uint128 {
	sum := xxh3.Uint128{Lo: '{'}
	for r.at++; r.next() != '}'; {
		if r.text[r.at] == ',' {
			r.at++
			r.next()
		}
		name := r.quoted()
		r.next()
		r.at++ // This skips the colon.
		member := joined(name, r.value())
		sum.Lo += member.Lo
		sum.Hi += member.Hi
	}
	r.at++
	return joined(sum, xxh3.Uint128{Lo: '}'})
}

func (r *jsonReader) list() xxh3.Uint128 {
	sum := xxh3.Uint128{Lo: '['}
	for r.at++; r.next() != ']'; {
		if r.text[r.at] == ',' {
			r.at++
		}
		sum = joined(sum, r.value())
	}
	r.at++
	return joined(sum, xxh3.Uint128{Lo: ']'})
}

// quoted reads a text and replaces escapes by their characters.
func (r *jsonReader) quoted() xxh3.Uint128 {
	start, escaped := r.at, false
	for r.at++; r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	r.at++
	content := r.text[start+1 : r.at-1]
	if escaped {
		var text string
		if stdjson.Unmarshal(r.text[start:r.at], &text) == nil {
			content = []byte(text)
		}
	}
	return xxh3.Hash128Seed(content, '"')
}

// bare reads a number, true, false or null.
func (r *jsonReader) bare() xxh3.Uint128 {
	start := r.at
	for r.at < len(r.text) && bytes.IndexByte([]byte(",]} \n\t\r"), r.text[r.at]) < 0 {
		r.at++
	}
	word := r.text[start:r.at]
	if first := word[0]; first == '-' || first >= '0' && first <= '9' {
		word = plainNumber(word)
	}
	return xxh3.Hash128(word)
}

// exactWhole bounds the whole numbers that a float64 represents exactly.
const exactWhole = 1 << 53

// plainNumber returns the shortest spelling of a number. Whole numbers without fraction and exponent stay unchanged,
// because a float64 would round long ones.
func plainNumber(word []byte) []byte {
	if !bytes.ContainsAny(word, ".eE") && string(word) != "-0" {
		return word
	}
	number, err := strconv.ParseFloat(string(word), 64)
	switch {
	case err != nil:
		return word
	case number == math.Trunc(number) && math.Abs(number) < exactWhole:
		return strconv.AppendInt(nil, int64(number), 10)
	}
	return strconv.AppendFloat(nil, number, 'g', -1, 64)
}

// joined returns 128 bits of two sums in their order.
func joined(a, b xxh3.Uint128) xxh3.Uint128 {
	var both [32]byte
	return xxh3.Hash128(appendSum(appendSum(both[:0], a), b))
}

func appendSum(to []byte, sum xxh3.Uint128) []byte {
	to = binary.LittleEndian.AppendUint64(to, sum.Lo)
	return binary.LittleEndian.AppendUint64(to, sum.Hi)
}
