package domain

import (
	"crypto/hmac"
	"crypto/sha256"
	"strings"
	"time"
)

// KeyKind determines from which places an ingest key may be used.
type KeyKind string

// The kinds of ingest key.
const (
	KeyPublic KeyKind = "public"
	KeySecret KeyKind = "secret"
)

// KeyKinds lists both kinds.
func KeyKinds() []KeyKind { return []KeyKind{KeyPublic, KeySecret} }

// Values lists the kinds.
func (KeyKind) Values() []KeyKind { return KeyKinds() }

// IngestKey is the record of an ingest key; the key itself is shown only once.
type IngestKey struct {
	ID          string     `json:"id"`
	Kind        KeyKind    `json:"kind"`
	Environment string     `json:"environment"`
	Label       string     `json:"label"`
	Prefix      string     `json:"prefix"`
	Last4       string     `json:"last4"`
	CreatedAt   time.Time  `json:"createdAt"`
	RevokedAt   *time.Time `json:"revokedAt"`
	// Hash is the SHA-256 of the key in hex.
	Hash string `json:"-"`
}

// ShortEnvironment returns the environment's form inside key prefixes (contract 15): letters and digits only, at most
// eight.
func ShortEnvironment(slug string) string {
	switch slug {
	case "production":
		return "prod"
	case "staging":
		return "stg"
	case "development":
		return "dev"
	}
	short := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, slug)
	return short[:min(len(short), 8)]
}

// KeyPrefix returns the prefix of all keys of a kind and environment, without the last underscore.
func KeyPrefix(kind KeyKind, environment string) string {
	short := "pub"
	if kind == KeySecret {
		short = "sec"
	}
	return "svc_" + short + "_" + ShortEnvironment(environment)
}

// Collector holds the data with which the ingest path judges a request with a key. It is an immutable snapshot that is
// replaced when the application changes.
type Collector struct {
	App         AppRef
	AppID       string
	Environment Environment
	KeyID       string
	Kind        KeyKind
	Modules     []Module
	Origins     []string
	// RetentionDays limits the age of an event with a secret key.
	RetentionDays int
	// RequireUserHash says that items with public keys must prove their distinct id. UserHashKeys are the SHA-256 of
	// the secret keys of the environment.
	RequireUserHash bool
	UserHashKeys    [][32]byte
	// Exclusions select traffic that is dropped, nil if none is.
	Exclusions *ExclusionSet
}

// UserHash returns the proof that a server of the customer named an id: HMAC-SHA256 of the id under the SHA-256 of a
// secret key. The service stores the SHA-256 of the key and never the key itself, so both sides know it.
func UserHash(keyHash [sha256.Size]byte, id string) []byte {
	mac := hmac.New(sha256.New, keyHash[:])
	mac.Write([]byte(id))
	return mac.Sum(nil)
}

// EqualUserHash compares a hash with the hash of an id in constant time.
func EqualUserHash(keyHash [sha256.Size]byte, id string, given []byte) bool {
	return hmac.Equal(UserHash(keyHash, id), given)
}
