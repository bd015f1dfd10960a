package identity

import (
	"time"

	"svc/domain"
)

// AppRecord is the form of an application in the store and between actors. In addition to the visible fields, it has
// the numbers of its environments and its revision, which callers never see.
type AppRecord struct {
	domain.Application
	Numbers  []uint64 `json:"numbers"`
	Revision uint64   `json:"revision"`
	// DeletedAt is when the application was deleted; its slug stays taken.
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
	// Passes counts how often the stored data of the deleted application was removed.
	Passes int `json:"passes,omitempty"`
}

// Deleted returns the part of the record that is retained after the deletion: the address and the names of its rows.
func (r AppRecord) Deleted(at time.Time) AppRecord {
	if r.DeletedAt != nil {
		return r
	}
	app := r.Application
	return AppRecord{
		Application: domain.Application{
			ID: app.ID, Slug: app.Slug, Timezone: app.Timezone, Organization: app.Organization, Environments: app.Environments,
			CreatedAt: app.CreatedAt, UpdatedAt: at,
		},
		Numbers: r.Numbers, Revision: r.Revision + 1, DeletedAt: &at,
	}
}

// Deletion describes the deletion of a deleted application.
func (r AppRecord) Deletion() domain.Deletion {
	return domain.Deletion{App: r.Application.Ref(), AppID: r.ID, Environments: r.Numbers, At: *r.DeletedAt, Passes: r.Passes}
}

// RecordApp returns the record of an application.
func RecordApp(app domain.Application) AppRecord {
	record := AppRecord{Application: app, Revision: app.Revision}
	for _, env := range app.Environments {
		record.Numbers = append(record.Numbers, env.Number)
	}
	return record
}

// Whole returns the application of a record, including the fields that callers never see.
func (r AppRecord) Whole() domain.Application {
	app := r.Application
	app.Revision = r.Revision
	app.Environments = append([]domain.Environment(nil), app.Environments...)
	for i := range app.Environments {
		if i < len(r.Numbers) {
			app.Environments[i].Number = r.Numbers[i]
		}
	}
	return app
}
