package ingest

import "time"

// ReplayClaim records the first request with an Idempotency-Key of a token.
type ReplayClaim struct {
	// Body distinguishes requests.
	Body string `json:"body"`
	// At is when the key was first used; Nonce is random. Both determine the ids of everything that the request
	// creates.
	At    time.Time `json:"at"`
	Nonce []byte    `json:"nonce"`
	// Repeated says that the key was used before.
	Repeated bool `json:"repeated,omitempty"`
	// Sealed is the stored answer, or nil.
	Sealed []byte `json:"sealed,omitempty"`
}
