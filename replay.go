package svc

import "time"

// ReplayClaim is what an Idempotency-Key of a token was first used for.
type ReplayClaim struct {
	// Body tells requests apart.
	Body string `json:"body"`
	// At is when the key was first used; Nonce is random. What the request makes gets its ids from both.
	At    time.Time `json:"at"`
	Nonce []byte    `json:"nonce"`
	// Sealed is the answer, nil where none is kept.
	Sealed []byte `json:"sealed,omitempty"`
}
