package apps

import (
	"context"
	"time"

	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
	"svc/domain/share"
)

// The deletion of an application, part of its actor.
type deleteApp struct {
	// App is the record that stays.
	App identity.AppRecord `json:"app"`
}

var applicationDelete = grain.On(applicationKind, "delete", (*application).onDelete, grain.Repeatable)

// onDelete retains the application's address and deletes everything else. It may be repeated.
func (a *application) onDelete(_ time.Time, m deleteApp) (grain.Outcome[grain.None], error) {
	if a.app != nil && a.app.DeletedAt != nil {
		return grain.Again(grain.None{}), nil
	}
	record := m.App
	writes := []grain.Write{grain.Put(kindApplication, record.ID, record)}
	a.app = &record
	for _, one := range a.held() {
		for _, id := range one.ids() {
			writes = append(writes, grain.Delete(one.kind, id))
		}
		one.empty()
	}
	return grain.Outcome[grain.None]{Effects: grain.Effects{Writes: writes, After: func(version domain.Version) {
		a.remove(version, record.Whole())
		a.publishPage(version, record.Whole(), share.Share{})
	}}}, nil
}

// Delete deletes an application. From its return on, none of its keys is accepted and its data is hidden. It may be
// repeated; the [Remover] completes a deletion that a crash interrupts.
func (a *Applications) Delete(ctx context.Context, ref domain.AppRef) error {
	record, err := a.slugs().Delete(ctx, ref)
	if err != nil {
		return err
	}
	return a.Close(domain.WithCarrier(ctx, nil), record)
}

// Close makes the actor of a deleted application delete its state.
func (a *Applications) Close(ctx context.Context, record identity.AppRecord) error {
	ref := record.Ref()
	_, err := applicationDelete.Ask(ctx, a.Actors, ref.String(), deleteApp{App: record})
	return a.changed(ctx, ref, err)
}
