package domain

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"sync"
	"time"
)

// Draws replaces the random ids and secrets of a repeatable call: every repetition of the call gets the same ones.
type Draws struct {
	seed     []byte
	at       time.Time
	repeated bool

	mu    sync.Mutex
	drawn map[string]int
}

// NewDraws returns the draws of a call. Only the caller and the service know the seed. at is the time of the first
// call, by which its ids sort. repeated says that the call was made before.
func NewDraws(seed []byte, at time.Time, repeated bool) *Draws {
	return &Draws{seed: seed, at: at, repeated: repeated, drawn: map[string]int{}}
}

type drawsKey struct{}

// WithDraws returns a context with draws for ids and secrets.
func WithDraws(ctx context.Context, draws *Draws) context.Context {
	return context.WithValue(ctx, drawsKey{}, draws)
}

// IsRepeated reports whether a call was made before under the same key and may already have changed data.
func IsRepeated(ctx context.Context) bool {
	draws, _ := ctx.Value(drawsKey{}).(*Draws)
	return draws != nil && draws.repeated
}

// DrawID returns a new id with a prefix, from the context's draws or else from otherwise.
func DrawID(ctx context.Context, prefix string, otherwise func(prefix string) string) string {
	draws, _ := ctx.Value(drawsKey{}).(*Draws)
	if draws == nil {
		return otherwise(prefix)
	}
	return prefix + draws.ulid(prefix)
}

// DrawBytes returns n random bytes, from the context's draws or else from otherwise.
func DrawBytes(ctx context.Context, n int, otherwise func(n int) []byte) []byte {
	draws, _ := ctx.Value(drawsKey{}).(*Draws)
	if draws == nil {
		return otherwise(n)
	}
	var out []byte
	for len(out) < n {
		out = append(out, draws.next("bytes")...)
	}
	return out[:n]
}

// next returns the next value for a purpose.
func (d *Draws) next(purpose string) []byte {
	d.mu.Lock()
	n := d.drawn[purpose]
	d.drawn[purpose]++
	d.mu.Unlock()
	mac := hmac.New(sha256.New, d.seed)
	mac.Write([]byte(purpose + "\x00" + strconv.Itoa(n)))
	return mac.Sum(nil)
}

// ulid returns a ULID: 48 bits of time and 80 others, as 26 digits of Crockford's base 32.
func (d *Draws) ulid(purpose string) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], uint64(d.at.UnixMilli())<<16)
	copy(raw[6:], d.next(purpose))
	high, low := binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])
	var out [26]byte
	for n := len(out) - 1; n >= 0; n-- {
		out[n] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[low&31]
		low, high = low>>5|high<<59, high>>5
	}
	return string(out[:])
}
