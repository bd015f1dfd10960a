package apps

import "svc/domain"

// keyRecord is the form of an ingest key in the store and between actors. In addition to the visible fields, it has the
// hash, which callers never see.
type keyRecord struct {
	domain.IngestKey
	Hash string `json:"hash"`
}

func (r keyRecord) key() domain.IngestKey {
	key := r.IngestKey
	key.Hash = r.Hash
	return key
}
