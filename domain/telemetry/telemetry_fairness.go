package telemetry

import (
	"cmp"
	"slices"
	"time"
)

// Fairness holds the limits of an application on a node, which protect other applications, and the senders that reached
// them.
type Fairness struct {
	// BytesPerSecond is the recent rate of the application; Bound is its limit, nil while it has none.
	BytesPerSecond float64
	Bound          *float64
	// Addresses is the number of addresses that recently sent to the application with public keys.
	// AddressBytesPerSecond is the rate of the largest sender among them. AddressBound is the limit of that sender for
	// all applications together, nil while it has none.
	Addresses             int
	AddressBytesPerSecond float64
	AddressBound          *float64
	// Met are the senders that were throttled within the last hour, the most throttled first.
	Met []FairnessMet
}

// FairnessMet is a throttled sender: a key and, if the key is public, the network of the address.
type FairnessMet struct {
	KeyID, Network string
	// Delayed counts requests that waited, Refused requests that were answered 503. ByAddress counts requests that
	// waited for the limit of their address, RateLimited errors beyond the limit of their key.
	Delayed, Refused, ByAddress, RateLimited int64
	LastAt                                   time.Time
}

// SortFairness orders senders by how often they were throttled.
func SortFairness(met []FairnessMet) []FairnessMet {
	slices.SortFunc(met, func(a, b FairnessMet) int {
		return cmp.Or(
			cmp.Compare(b.Refused+b.RateLimited, a.Refused+a.RateLimited), cmp.Compare(b.Delayed, a.Delayed), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Network, b.Network),
		)
	})
	return met
}
