package svc

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"sync"
	"time"
)

// Draws makes what a repeatable call would otherwise draw at random: the same ids and secrets for
// every repetition of the call.
type Draws struct {
	seed     []byte
	at       time.Time
	repeated bool

	mu    sync.Mutex
	drawn map[string]int
}

// NewDraws returns the draws of a call. The seed is known to nobody but the caller and the service; at
// is when the call was first made, which its ids are sorted by, and repeated says that it was made before.
func NewDraws(seed []byte, at time.Time, repeated bool) *Draws {
	return &Draws{seed: seed, at: at, repeated: repeated, drawn: map[string]int{}}
}

type drawsKey struct{}

// WithDraws returns a context in which ids and secrets are drawn from draws.
func WithDraws(ctx context.Context, draws *Draws) context.Context {
	return context.WithValue(ctx, drawsKey{}, draws)
}

// IsRepeated reports whether a call was made before, under the same key, and may have changed something.
func IsRepeated(ctx context.Context) bool {
	draws, _ := ctx.Value(drawsKey{}).(*Draws)
	return draws != nil && draws.repeated
}

// DrawID returns a new id with a prefix: that of the context's draws, or else one that otherwise
// makes.
func DrawID(ctx context.Context, prefix string, otherwise func(prefix string) string) string {
	draws, _ := ctx.Value(drawsKey{}).(*Draws)
	if draws == nil {
		return otherwise(prefix)
	}
	return prefix + draws.ulid(prefix)
}

// DrawBytes returns n random bytes: those of the context's draws, or else what otherwise makes.
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

// next returns the next value of a purpose.
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
