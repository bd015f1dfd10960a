package actors

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"svc"
)

// Shares is this node's snapshot of every published page by its links, read by
// strangers' requests without a lock and replaced by the application actors
// when they change.
type Shares struct {
	byLink sync.Map // a share's id, or org/app → *svc.PublicShare

	mu    sync.Mutex
	ofApp map[svc.AppRef][]string
}

// NewShares returns an empty snapshot.
func NewShares() *Shares { return &Shares{ofApp: map[svc.AppRef][]string{}} }

// Share returns the page that a link finds, nil where none is published there.
func (s *Shares) Share(link string) *svc.PublicShare {
	found, _ := s.byLink.Load(link)
	share, _ := found.(*svc.PublicShare)
	return share
}

// Publish replaces what is known of one application's page.
func (s *Shares) Publish(app svc.Application, share svc.Share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := app.Ref()
	links := share.Links(ref)
	for _, old := range s.ofApp[ref] {
		if !slices.Contains(links, old) {
			s.byLink.Delete(old)
		}
	}
	for _, link := range links {
		s.byLink.Store(link, &svc.PublicShare{App: app, Share: share})
	}
	s.ofApp[ref] = links
}

// Load fills the snapshot from the store, for a starting node.
func (s *Shares) Load(ctx context.Context, store kindLister) error {
	apps, err := store.LoadKind(ctx, "application")
	if err != nil {
		return fmt.Errorf("loading the applications: %w", err)
	}
	stored, err := store.LoadKind(ctx, "share")
	if err != nil {
		return fmt.Errorf("loading the shares: %w", err)
	}
	shares := map[string]svc.Share{}
	for _, entity := range stored {
		if shares[entity.Owner], err = decode[svc.Share](entity); err != nil {
			return err
		}
	}
	for _, entity := range apps {
		record, err := decode[appRecord](entity)
		if err != nil {
			return err
		}
		s.Publish(record.application(), shares[entity.Owner])
	}
	return nil
}
