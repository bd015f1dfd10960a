package svc

import (
	"cmp"
	"slices"
	"time"
)

// Fairness says what bounds an application on a node, so that it does not cost others, and who met the bound.
type Fairness struct {
	// BytesPerSecond is what the application sent lately; Bound what it may send, nil while nothing bounds it.
	BytesPerSecond float64
	Bound          *float64
	// Addresses is how many addresses sent to the application lately with public keys, AddressBytesPerSecond what the one that sent
	// most did; AddressBound what that one may send to all applications together, nil while nothing bounds it.
	Addresses             int
	AddressBytesPerSecond float64
	AddressBound          *float64
	// Met are the senders that were held back within the last hour, the one held back most first.
	Met []FairnessMet
}

// FairnessMet is a sender that was held back: a key, and the network of the address where the key is public.
type FairnessMet struct {
	KeyID, Network string
	// Delayed and Refused count requests that waited, and those that were answered 503; ByAddress those that waited for the bound of
	// their address; RateLimited errors beyond the bound of their key.
	Delayed, Refused, ByAddress, RateLimited int64
	LastAt                                   time.Time
}

// SortFairness orders senders by how often they were held back.
func SortFairness(met []FairnessMet) []FairnessMet {
	slices.SortFunc(met, func(a, b FairnessMet) int {
		return cmp.Or(
			cmp.Compare(b.Refused+b.RateLimited, a.Refused+a.RateLimited), cmp.Compare(b.Delayed, a.Delayed), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Network, b.Network),
		)
	})
	return met
}
