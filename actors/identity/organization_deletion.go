package identity

import (
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/signin"
)

// The deletion of applications and of the organization itself, of the organization actor. Their slugs stay taken:
// an address, a link or a letter with a slug never leads to another's data.

// orgRecord is the stored form of an organization.
type orgRecord struct {
	domain.Organization
	// DeletedAt is when the organization was deleted.
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
	// Passes counts how often the stored data of the deleted organization was removed.
	Passes int `json:"passes,omitempty"`
}

type (
	deleteApp struct {
		Slug string `json:"slug"`
	}
	notePasses struct {
		// Slug names an application; it is empty for the organization itself.
		Slug   string `json:"slug"`
		Passes int    `json:"passes"`
	}
	// deletedOrg lists the members and applications of an organization at its deletion.
	deletedOrg struct {
		Members []domain.Member `json:"members"`
		Apps    []AppRecord     `json:"apps"`
	}
)

// The methods of the organization actor.
var (
	organizationDeleteApp  = grain.On(organizationKind, "app.delete", (*organization).onDeleteApp)
	organizationDelete     = grain.On(organizationKind, "delete", (*organization).onDelete)
	organizationNotePasses = grain.On(organizationKind, "deletion.note", (*organization).onNotePasses, grain.Repeatable)
)

// afterDeletion lists the methods that a deleted organization retains.
func afterDeletion() []string {
	return []string{organizationDelete.Name(), organizationDeleteApp.Name(), organizationNotePasses.Name()}
}

// onDeleteApp removes an application from all lists. It may be repeated.
func (o *organization) onDeleteApp(now time.Time, m deleteApp) (grain.Outcome[AppRecord], error) {
	record, found := o.apps[m.Slug]
	switch {
	case !found:
		return grain.Outcome[AppRecord]{}, domain.NotFound("application")
	case record.DeletedAt != nil:
		return grain.Again(record), nil
	}
	record = record.Deleted(now)
	o.apps[m.Slug] = record
	result := grain.Answer(record, grain.Put("app", m.Slug, record))
	result.About = record.ID
	return result, nil
}

// onDelete deletes the organization with its applications, members and tokens. It may be repeated.
func (o *organization) onDelete(now time.Time, _ grain.None) (grain.Outcome[deletedOrg], error) {
	if o.org.DeletedAt != nil {
		return grain.Again(deletedOrg{Apps: o.allApps()}), nil
	}
	had := deletedOrg{Members: o.seats()}
	o.org.DeletedAt = &now
	writes := []grain.Write{grain.Put("organization", o.org.ID, *o.org)}
	for _, slug := range slices.Sorted(maps.Keys(o.apps)) {
		if o.apps[slug].DeletedAt == nil {
			o.apps[slug] = o.apps[slug].Deleted(now)
			writes = append(writes, grain.Put("app", slug, o.apps[slug]))
		}
	}
	remove := func(kind string, ids []string) {
		for _, id := range ids {
			writes = append(writes, grain.Delete(kind, id))
		}
	}
	remove("member", slices.Sorted(maps.Keys(o.members)))
	remove("invitation", slices.Sorted(maps.Keys(o.invitations)))
	remove("token", slices.Sorted(maps.Keys(o.tokens)))
	had.Apps = o.allApps()
	o.members, o.invitations, o.tokens = map[string]domain.Member{}, map[string]signin.Invitation{}, map[string]tokenRecord{}
	result := grain.Answer(had, writes...)
	result.About = o.org.ID
	return result, nil
}

// allApps returns the records of all applications by slug, including deleted ones.
func (o *organization) allApps() (records []AppRecord) {
	for _, slug := range slices.Sorted(maps.Keys(o.apps)) {
		records = append(records, o.apps[slug])
	}
	return records
}

// onNotePasses records how often the stored data of a deletion was removed.
func (o *organization) onNotePasses(_ time.Time, m notePasses) (grain.Outcome[grain.None], error) {
	if m.Slug == "" {
		if o.org.DeletedAt == nil || m.Passes <= o.org.Passes {
			return grain.Answer(grain.None{}), nil
		}
		o.org.Passes = m.Passes
		return grain.Answer(grain.None{}, grain.Put("organization", o.org.ID, *o.org)), nil
	}
	record, found := o.apps[m.Slug]
	if !found || record.DeletedAt == nil || m.Passes <= record.Passes {
		return grain.Answer(grain.None{}), nil
	}
	record.Passes = m.Passes
	o.apps[m.Slug] = record
	return grain.Answer(grain.None{}, grain.Put("app", m.Slug, record)), nil
}
