package identity

import "svc/domain"

// tokenRecord is the form of a token in the store and between actors. In addition to the visible fields, it has the
// hash, which callers never see.
type tokenRecord struct {
	domain.Token
	Hash string `json:"hash"`
	// Mailed is set for a link that was sent only to the mailbox of its user.
	Mailed bool `json:"mailed,omitempty"`
}

func recordToken(token domain.Token) tokenRecord {
	return tokenRecord{Token: token, Hash: token.Hash}
}

func (r tokenRecord) token() domain.Token {
	token := r.Token
	token.Hash = r.Hash
	return token
}
