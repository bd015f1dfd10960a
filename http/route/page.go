package route

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
)

// PageHead sets the headers of every part of a page for people: its content type, which browsers must not guess, the
// content-security policy, and no referrer for its links.
func PageHead(head http.Header, kind, policy string) {
	head.Set("Content-Type", kind)
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
}

// PolicyHash returns the source expression of a style or a script for a content-security policy.
func PolicyHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
