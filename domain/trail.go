package domain

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// Trail holds the ledger entries and the audit entry of a change. It is saved in the same write as the change, so it
// exists exactly if the change does.
type Trail struct {
	// ID identifies the trail. The contents of a trail are stored once per ID.
	ID string `json:"id"`
	// Entries have no place in their ledgers yet.
	Entries []LedgerEntry `json:"entries,omitempty"`
	Audit   *AuditRow     `json:"audit,omitempty"`
}

// Carrier hands the trail of a call to the first of its changes that is saved.
type Carrier struct {
	fill func() (Trail, bool)

	mu sync.Mutex
	// lent says that an open request carries the trail; left that the trail is saved, or may be. offered says that some
	// request carried it, apart that a change was saved without it.
	lent, left, offered, apart bool
}

// NewCarrier returns a carrier. fill makes the trail when a request is about to carry it. It returns false if the trail
// is not yet known.
func NewCarrier(fill func() (Trail, bool)) *Carrier { return &Carrier{fill: fill} }

type carrierKey struct{}

// WithCarrier returns a context that makes changes carry a trail. With nil, they carry none, as in steps that only
// prepare the change.
func WithCarrier(ctx context.Context, carrier *Carrier) context.Context {
	return context.WithValue(ctx, carrierKey{}, carrier)
}

// CarrierOf returns the carrier of a context, or nil.
func CarrierOf(ctx context.Context) *Carrier {
	carrier, _ := ctx.Value(carrierKey{}).(*Carrier)
	return carrier
}

// Lend returns the encoded trail for a request, which ends with Return. It returns nil if another request carries the
// trail, or if there is nothing to carry.
func (c *Carrier) Lend() ([]byte, error) {
	if c == nil {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lent || c.left {
		return nil, nil
	}
	trail, known := c.fill()
	if !known {
		return nil, nil
	}
	encoded, err := json.Marshal(trail)
	if err != nil {
		return nil, fmt.Errorf("encoding a trail: %w", err)
	}
	c.lent, c.offered = true, true
	return encoded, nil
}

// Return ends a request that was lent a trail, which may be nil. saved reports that the request saved a change, known
// that this is certain.
func (c *Carrier) Return(trail []byte, saved, known bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if trail == nil {
		c.apart = c.apart || saved
		return
	}
	c.lent, c.left = false, saved || !known
}

// Left reports whether the trail is saved, or may be.
func (c *Carrier) Left() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// Needless reports whether the trail can be dropped: it was carried, and nothing was changed.
func (c *Carrier) Needless() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offered && !c.left && !c.apart
}
