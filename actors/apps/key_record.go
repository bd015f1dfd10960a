package apps

import "svc"

// keyRecord is how an ingest key is stored, and crosses between actors: its hash, which callers
// never see, stands beside what they see.
type keyRecord struct {
	svc.IngestKey
	Hash string `json:"hash"`
}

func (r keyRecord) key() svc.IngestKey {
	key := r.IngestKey
	key.Hash = r.Hash
	return key
}
