package identity

import "svc"

// AppRecord is how an application is stored, and crosses between actors: what callers never see,
// the numbers of its environments and its revision, stands beside what they see.
type AppRecord struct {
	svc.Application
	Numbers  []uint64 `json:"numbers"`
	Revision uint64   `json:"revision"`
}

// RecordApp returns the record of an application.
func RecordApp(app svc.Application) AppRecord {
	record := AppRecord{Application: app, Revision: app.Revision}
	for _, env := range app.Environments {
		record.Numbers = append(record.Numbers, env.Number)
	}
	return record
}

// Whole returns the application of a record, with what callers never see.
func (r AppRecord) Whole() svc.Application {
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
