package apps

import (
	"maps"
	"slices"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/share"
)

// heldKind is one kind of entity that an application holds in addition to its own record.
type heldKind struct {
	kind    string
	empty   func()
	restore func(entity domain.Entity) error
	// ids lists the stored entities.
	ids func() []string
}

// held lists the kinds of entities of an application. An entity is restored if and only if its kind is in the list. The
// same holds for its deletion with the application.
func (a *application) held() []heldKind {
	return []heldKind{
		heldByID("key", &a.keys),
		heldByID("goal", &a.goals),
		heldByID("funnel", &a.funnels),
		heldByID(kindAnnotation, &a.annotations),
		{
			kind: "share", empty: func() { a.share = share.Share{} }, ids: func() []string { return []string{a.app.ID} },
			restore: func(entity domain.Entity) (err error) {
				a.share, err = grain.Decode[share.Share](entity)
				return err
			},
		},
	}
}

// heldByID returns the kind of the entities in a map.
func heldByID[T any](kind string, entities *map[string]T) heldKind {
	return heldKind{
		kind: kind, empty: func() { *entities = map[string]T{} }, ids: func() []string { return slices.Sorted(maps.Keys(*entities)) },
		restore: func(entity domain.Entity) (err error) {
			(*entities)[entity.ID], err = grain.Decode[T](entity)
			return err
		},
	}
}
