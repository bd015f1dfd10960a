package geo

import "net/netip"

// Cache caches the locations of recently located addresses. It has no lock: only one goroutine at a time may use it.
type Cache struct {
	db      *DB
	half    int
	recent  map[netip.Addr]Location
	earlier map[netip.Addr]Location
}

// NewCache returns a cache in front of db, which may be nil. It holds at most size addresses, and at least two. It
// drops an address only after size/2 other addresses came in since the last use of that address.
func NewCache(db *DB, size int) *Cache {
	return &Cache{
		db:      db,
		half:    max(size/2, 1),
		recent:  make(map[netip.Addr]Location),
		earlier: make(map[netip.Addr]Location),
	}
}

// Locate returns the same as [DB.Locate]. A cached answer costs no allocation.
func (c *Cache) Locate(ip netip.Addr) Location {
	ip = ip.Unmap().WithZone("")
	if location, ok := c.recent[ip]; ok {
		return location
	}
	location, ok := c.earlier[ip]
	if !ok {
		location = c.db.Locate(ip)
	}
	if len(c.recent) >= c.half {
		clear(c.earlier)
		c.recent, c.earlier = c.earlier, c.recent
	}
	c.recent[ip] = location
	return location
}

// Len returns the number of cached addresses.
func (c *Cache) Len() int { return len(c.recent) + len(c.earlier) }
