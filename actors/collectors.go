package actors

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"

	"svc"
)

// Collectors is this node's snapshot of every live ingest key, read by the
// ingest path without a lock and replaced by the application actors when they
// change.
type Collectors struct {
	byKey sync.Map // [32]byte, the key's hash → *svc.Collector

	mu    sync.Mutex
	ofApp map[svc.AppRef][][32]byte
}

// NewCollectors returns an empty snapshot.
func NewCollectors() *Collectors { return &Collectors{ofApp: map[svc.AppRef][][32]byte{}} }

// Collector returns what a key may do, by the SHA-256 of the key; nil where the
// key is unknown or revoked.
func (c *Collectors) Collector(hash [32]byte) *svc.Collector {
	found, _ := c.byKey.Load(hash)
	collector, _ := found.(*svc.Collector)
	return collector
}

// Publish replaces what is known of one application.
func (c *Collectors) Publish(app svc.Application, keys []svc.IngestKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref := app.Ref()
	present := map[[32]byte]bool{}
	for _, key := range keys {
		environment, known := app.Environment(key.Environment)
		raw, err := hex.DecodeString(key.Hash)
		if !known || err != nil || len(raw) != 32 || key.RevokedAt != nil {
			continue
		}
		hash := [32]byte(raw)
		present[hash] = true
		c.byKey.Store(hash, &svc.Collector{
			App: ref, AppID: app.ID, Environment: environment, KeyID: key.ID, Kind: key.Kind,
			Modules: app.Modules, Origins: app.AllowedOrigins, RetentionDays: app.RetentionDays,
			Metrics: svc.DefaultMetricsPolicy(),
		})
	}
	for _, old := range c.ofApp[ref] {
		if !present[old] {
			c.byKey.Delete(old)
		}
	}
	hashes := make([][32]byte, 0, len(present))
	for hash := range present {
		hashes = append(hashes, hash)
	}
	c.ofApp[ref] = hashes
}

// kindLister reads all stored entities of a kind.
type kindLister interface {
	LoadKind(ctx context.Context, kind string) ([]svc.Entity, error)
}

// Load fills the snapshot from the store, for a starting node.
func (c *Collectors) Load(ctx context.Context, store kindLister) error {
	apps, err := store.LoadKind(ctx, "application")
	if err != nil {
		return fmt.Errorf("loading the applications: %w", err)
	}
	stored, err := store.LoadKind(ctx, "key")
	if err != nil {
		return fmt.Errorf("loading the ingest keys: %w", err)
	}
	keys := map[string][]svc.IngestKey{}
	for _, entity := range stored {
		record, err := decode[keyRecord](entity)
		if err != nil {
			return err
		}
		keys[entity.Owner] = append(keys[entity.Owner], record.key())
	}
	for _, entity := range apps {
		record, err := decode[appRecord](entity)
		if err != nil {
			return err
		}
		c.Publish(record.application(), keys[entity.Owner])
	}
	return nil
}
