package ingest

import (
	"cmp"
	"encoding/hex"

	"svc/domain"
)

// checkUserHash refuses an item of a public key that identifies a person without the proof that the application
// requires. Both ids of an alias need a proof, because either id may belong to another person.
func (sub *submission) checkUserHash(it *item, kind itemKind) (code, message string) {
	if !sub.collector.RequireUserHash || sub.collector.Kind == domain.KeySecret {
		return "", ""
	}
	field := ""
	switch {
	case kind != itemIdentify && kind != itemAlias && kind != itemGroup:
	case !sub.proved(cmp.Or(it.DistinctID, it.AnonymousID), it.UserHash):
		field = "userHash"
	case kind == itemAlias && !sub.proved(cmp.Or(it.PreviousID, it.AnonymousID), it.PreviousUserHash):
		field = "previousUserHash"
	}
	if field == "" {
		return "", ""
	}
	return "user_hash_required", field + " is missing or is not that of the id; the application requires it of public keys."
}

// proved reports whether a hash is the hash of an id under one of the secret keys of the environment.
func (sub *submission) proved(id, hash string) bool {
	given, err := hex.DecodeString(hash)
	if err != nil || id == "" {
		return false
	}
	good := false
	for _, key := range sub.collector.UserHashKeys {
		good = domain.EqualUserHash(key, id, given) || good
	}
	return good
}
