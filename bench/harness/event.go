package harness

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// Cardinalities of the reference load.
const (
	Users = 10_000
	Paths = 200
)

// UserAgents returns the browsers of the reference load. A connection sends one of them as its header.
func UserAgents() []string {
	return []string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
		"Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
	}
}

// Generator renders reference events. Two generators of one seed render the same bytes for the same times. Only one
// goroutine may use it at a time.
type Generator struct {
	random *rand.Rand
}

// NewGenerator returns the generator of a seed and a stream: connections of one load use different streams.
func NewGenerator(seed, stream uint64) *Generator {
	return &Generator{random: rand.New(rand.NewPCG(seed, stream))}
}

// AppendEvent appends one reference event: a random user, path and identifier.
func (g *Generator) AppendEvent(out []byte, ts time.Time) []byte {
	return AppendEvent(out, g.appendID(nil), g.random.IntN(Users), g.random.IntN(Paths), ts)
}

// AppendBatch appends the body of a batch request of size reference events.
func (g *Generator) AppendBatch(out []byte, size int, ts time.Time) []byte {
	out = append(out, `{"items":[`...)
	var id [36]byte
	for n := range size {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"type":"event",`...)
		out = appendFields(out, g.appendID(id[:0]), g.random.IntN(Users), g.random.IntN(Paths), ts)
	}
	return append(out, `]}`...)
}

// appendID appends a random UUID of version 4.
func (g *Generator) appendID(out []byte) []byte {
	high := g.random.Uint64()&^0xf000 | 0x4000
	low := g.random.Uint64()&^(3<<62) | 2<<62
	for n, shift := 0, 60; n < 16; n, shift = n+1, shift-4 {
		if n == 8 || n == 12 {
			out = append(out, '-')
		}
		out = append(out, hexDigits[high>>shift&15])
	}
	for n, shift := 0, 60; n < 16; n, shift = n+1, shift-4 {
		if n == 0 || n == 4 {
			out = append(out, '-')
		}
		out = append(out, hexDigits[low>>shift&15])
	}
	return out
}

const hexDigits = "0123456789abcdef"

// AppendEvent appends the reference event of an identifier, a user and a path.
func AppendEvent(out, id []byte, user, path int, ts time.Time) []byte {
	return appendFields(append(out, '{'), id, user, path, ts)
}

// AppendItem appends the same event as an item of a batch.
func AppendItem(out, id []byte, user, path int, ts time.Time) []byte {
	return appendFields(append(out, `{"type":"event",`...), id, user, path, ts)
}

func appendFields(out, id []byte, user, path int, ts time.Time) []byte {
	out = append(out, `"name":"$pageview","distinctId":"user-`...)
	out = appendPadded(out, user)
	out = append(out, `","sessionId":"sess-`...)
	out = appendPadded(out, user)
	out = append(out, `","ts":"`...)
	out = ts.UTC().AppendFormat(out, TimeFormat)
	out = append(out, `","id":"`...)
	out = append(out, id...)
	out = append(out, `","context":{"url":"https://shop.example.com/products/item-`...)
	out = strconv.AppendInt(out, int64(path), 10)
	out = append(out, `?utm_source=news&utm_medium=email&utm_campaign=spring","path":"/products/item-`...)
	out = strconv.AppendInt(out, int64(path), 10)
	out = append(out, `","title":"Item `...)
	out = strconv.AppendInt(out, int64(path), 10)
	return append(out, ` - Example Shop","referrer":"https://www.google.com/","locale":"en-US","screen":{"width":1920,"height":1080},"utm":{"source":"news","medium":"email","campaign":"spring"}},"properties":{"plan":"pro","price":49.95,"currency":"EUR","items":3}}`...)
}

// TimeFormat is the format of times in events.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// appendPadded appends a number of eight digits.
func appendPadded(out []byte, n int) []byte {
	for divisor := 10_000_000; divisor > 0; divisor /= 10 {
		out = append(out, byte('0'+n/divisor%10))
	}
	return out
}
