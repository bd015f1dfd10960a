package exports

import (
	"cmp"
	"slices"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/export"
)

// Open is this node's snapshot of all exports: the runner reads its work from it, and the files that belong to an
// export. NewOpen makes one.
type Open struct {
	exports grain.Snapshot[string, string, export.Export] // by id
	woken   chan struct{}
}

// NewOpen returns an empty snapshot.
func NewOpen() *Open {
	return &Open{woken: make(chan struct{}, 1)}
}

// EntityKinds returns the kinds of the entities in the snapshot.
func (o *Open) EntityKinds() []string { return []string{"export"} }

// PublishEntities publishes the exports of one application.
func (o *Open) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	for _, entity := range entities {
		if entity.Deleted {
			o.exports.Replace(entity.Version, entity.ID, nil)
			continue
		}
		if one := grain.DecodeOrSkip[export.Export](entity, skipped); one != nil {
			o.exports.Replace(entity.Version, entity.ID, map[string]export.Export{one.ID: *one})
			if one.Status == export.Queued {
				o.Wake()
			}
		}
	}
}

// Wake makes the runner look for work.
func (o *Open) Wake() {
	select {
	case o.woken <- struct{}{}:
	default: // it will look
	}
}

// work returns the oldest export under way of each application, ordered by application.
func (o *Open) work() []export.Export {
	oldest := map[domain.AppRef]export.Export{}
	for _, one := range o.exports.All() {
		if first, found := oldest[one.App]; one.Open() && (!found || cmp.Or(one.At.Compare(first.At), cmp.Compare(one.ID, first.ID)) < 0) {
			oldest[one.App] = one
		}
	}
	list := make([]export.Export, 0, len(oldest))
	for _, one := range oldest {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b export.Export) int { return cmp.Compare(a.App.String(), b.App.String()) })
	return list
}

// apps returns the applications that have any export.
func (o *Open) apps() (apps []domain.AppRef) {
	for _, one := range o.exports.All() {
		if !slices.Contains(apps, one.App) {
			apps = append(apps, one.App)
		}
	}
	return apps
}

// files returns the names of the files of exports.
func (o *Open) files() map[string]bool {
	names := map[string]bool{}
	for _, one := range o.exports.All() {
		if one.Open() || one.Status == export.Ready {
			names[one.File()] = true
		}
	}
	return names
}
