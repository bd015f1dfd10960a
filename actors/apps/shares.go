package apps

import (
	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
	"svc/domain/share"
)

// Shares is this node's snapshot of every published page by its links: the share's id, or org/app. Requests of the
// public read it without a lock, and the application actors replace its entries when they change.
type Shares struct {
	pages grain.Snapshot[domain.AppRef, string, *share.PublicShare]
}

// NewShares returns an empty snapshot.
func NewShares() *Shares { return &Shares{} }

// Share returns the page of a link, nil if no page is published there.
func (s *Shares) Share(link string) *share.PublicShare {
	found, _ := s.pages.Find(link)
	return found
}

// Publish replaces the entry of one application's page, unless a later version is known.
func (s *Shares) Publish(version domain.Version, app domain.Application, sh share.Share) {
	pages := map[string]*share.PublicShare{}
	for _, link := range sh.Links(app.Ref()) {
		pages[link] = &share.PublicShare{App: app, Share: sh}
	}
	s.pages.Replace(version, app.Ref(), pages)
}

// EntityKinds returns the kinds of the entities that the snapshot is made of.
func (s *Shares) EntityKinds() []string { return []string{"application", "share"} }

// PublishEntities publishes the entities of one owner, if it is an application. A page that cannot be decoded is not
// shown.
func (s *Shares) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	var version domain.Version
	var app *identity.AppRecord
	var sh share.Share
	for _, entity := range entities {
		if entity.Version.Number() > version.Number() {
			version = entity.Version
		}
		switch {
		case entity.Deleted:
		case entity.Kind == "application":
			app = grain.DecodeOrSkip[identity.AppRecord](entity, skipped)
		case entity.Kind == "share":
			if found := grain.DecodeOrSkip[share.Share](entity, skipped); found != nil {
				sh = *found
			}
		}
	}
	if app != nil && app.DeletedAt != nil {
		sh = share.Share{}
	}
	if app != nil {
		s.Publish(version, app.Whole(), sh)
	}
}
