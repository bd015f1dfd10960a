package identity

import "svc"

// tokenRecord is how a token is stored, and crosses between actors: its hash, which callers never
// see, stands beside what they see.
type tokenRecord struct {
	svc.Token
	Hash string `json:"hash"`
	// Mailed says of a link that only the mailbox of its person got it.
	Mailed bool `json:"mailed,omitempty"`
}

func recordToken(token svc.Token) tokenRecord {
	return tokenRecord{Token: token, Hash: token.Hash}
}

func (r tokenRecord) token() svc.Token {
	token := r.Token
	token.Hash = r.Hash
	return token
}
