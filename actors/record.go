package actors

import "svc"

// The records below are how things that hide a field from callers are stored
// and cross between actors: the hidden field stands beside the shown ones.

type appRecord struct {
	svc.Application
	Numbers  []uint64 `json:"numbers"`
	Revision uint64   `json:"revision"`
}

func recordApp(app svc.Application) appRecord {
	record := appRecord{Application: app, Revision: app.Revision}
	for _, env := range app.Environments {
		record.Numbers = append(record.Numbers, env.Number)
	}
	return record
}

func (r appRecord) application() svc.Application {
	app := r.Application
	app.Revision = r.Revision
	app.Environments = append([]svc.Environment(nil), app.Environments...)
	for i := range app.Environments {
		if i < len(r.Numbers) {
			app.Environments[i].Number = r.Numbers[i]
		}
	}
	return app
}

type keyRecord struct {
	svc.IngestKey
	Hash string `json:"hash"`
}

func (r keyRecord) key() svc.IngestKey {
	key := r.IngestKey
	key.Hash = r.Hash
	return key
}

type tokenRecord struct {
	svc.Token
	Hash string `json:"hash"`
}

func recordToken(token svc.Token) tokenRecord { return tokenRecord{Token: token, Hash: token.Hash} }

func (r tokenRecord) token() svc.Token {
	token := r.Token
	token.Hash = r.Hash
	return token
}
