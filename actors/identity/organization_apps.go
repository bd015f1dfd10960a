package identity

import (
	"context"

	"svc/actors/grain"
	"svc/domain"
)

// Slugs is the client of organizations as the owners of the slugs of their applications.
type Slugs struct {
	Actors grain.Caller
}

// Reserve reserves the slug of a new application, and returns the application that is to be created under it. It fails
// with conflict if a slug that the caller chose is taken.
func (s Slugs) Reserve(ctx context.Context, org string, spec domain.AppSpec, ids domain.AppIDs) (AppRecord, error) {
	return organizationReserveApp.Ask(ctx, s.Actors, org, reserveApp{Spec: spec, IDs: ids})
}

// Find returns the application of a reserved slug. It fails with not_found if the slug is not reserved.
func (s Slugs) Find(ctx context.Context, ref domain.AppRef) (AppRecord, error) {
	return organizationFindApp.Ask(ctx, s.Actors, ref.Org, findApp{Slug: ref.App})
}

// List returns slugs of an organization after a slug, in order, and whether more follow.
func (s Slugs) List(ctx context.Context, org, after string, limit int) (slugs []string, more bool, err error) {
	list, err := organizationApps.Ask(ctx, s.Actors, org, listApps{After: after, Limit: limit})
	for _, record := range list.Apps {
		slugs = append(slugs, record.Slug)
	}
	return slugs, list.More, err
}

// Delete removes an application from the lists of its organization; its slug stays reserved. It may be repeated.
func (s Slugs) Delete(ctx context.Context, ref domain.AppRef) (AppRecord, error) {
	return organizationDeleteApp.Ask(ctx, s.Actors, ref.Org, deleteApp{Slug: ref.App})
}

// NotePasses records how often the stored data of a deletion was removed. It may be repeated.
func (s Slugs) NotePasses(ctx context.Context, deletion domain.Deletion) error {
	_, err := organizationNotePasses.Ask(ctx, s.Actors, deletion.App.Org, notePasses{Slug: deletion.App.App, Passes: deletion.Passes})
	return err
}

// DeletionOf returns the deletion that an entity of an organization records, or nil.
func DeletionOf(entity domain.Entity, skipped grain.Skipped) *domain.Deletion {
	switch entity.Kind {
	case "app":
		if record := grain.DecodeOrSkip[AppRecord](entity, skipped); record != nil && record.DeletedAt != nil {
			deletion := record.Deletion()
			return &deletion
		}
	case "organization":
		if record := grain.DecodeOrSkip[orgRecord](entity, skipped); record != nil && record.DeletedAt != nil {
			return &domain.Deletion{App: domain.AppRef{Org: record.Slug}, At: *record.DeletedAt, Passes: record.Passes}
		}
	}
	return nil
}
