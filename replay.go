package svc

import "time"

// ReplayClaim records the request that an Idempotency-Key of a token was first used for.
type ReplayClaim struct {
	// Body tells requests apart.
	Body string `json:"body"`
	// At is when the key was first used; Nonce is random. What the request makes gets its ids from both.
	At    time.Time `json:"at"`
	Nonce []byte    `json:"nonce"`
	// Repeated says that the key was used before.
	Repeated bool `json:"repeated,omitempty"`
	// Sealed is the answer, nil where none is kept.
	Sealed []byte `json:"sealed,omitempty"`
}
