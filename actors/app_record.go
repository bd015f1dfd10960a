package actors

import "svc"

// appRecord is how an application is stored, and crosses between actors: what callers never see,
// the numbers of its environments and its revision, stands beside what they see.
type appRecord struct {
	svc.Application
	Numbers  []uint64 `json:"numbers"`
	Revision uint64   `json:"revision"`
}

// recordApp returns the record of an application.
func recordApp(app svc.Application) appRecord {
	record := appRecord{Application: app, Revision: app.Revision}
	for _, env := range app.Environments {
		record.Numbers = append(record.Numbers, env.Number)
	}
	return record
}

// whole returns the application of a record, with what callers never see.
func (r appRecord) whole() svc.Application {
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
