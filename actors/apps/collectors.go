package apps

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
)

// Collectors is this node's snapshot of every live ingest key. The ingest path reads it without a lock, and the
// application actors replace its entries when they change.
type Collectors struct {
	byKey sync.Map // [32]byte, the key's hash → *domain.Collector
	// former holds the environments of revoked keys, named the environments of ingest ids, by number.
	former sync.Map // [32]byte, the key's hash → uint64
	named  sync.Map // the ingest id → uint64

	mu    sync.Mutex
	ofApp map[domain.AppRef]published
}

// published holds the latest entries of one application.
type published struct {
	version domain.Version
	app     domain.Application
	hashes  [][32]byte
}

// NewCollectors returns an empty snapshot.
func NewCollectors() *Collectors { return &Collectors{ofApp: map[domain.AppRef]published{}} }

// Collector returns the rights of a key, by the SHA-256 of the key. It returns nil if the key is unknown or revoked.
func (c *Collectors) Collector(hash [32]byte) *domain.Collector {
	found, _ := c.byKey.Load(hash)
	collector, _ := found.(*domain.Collector)
	return collector
}

// Former returns the environment of a revoked key by the SHA-256 of the key, 0 if the key is unknown.
func (c *Collectors) Former(hash [32]byte) uint64 {
	found, _ := c.former.Load(hash)
	environment, _ := found.(uint64)
	return environment
}

// Named returns the environment of an ingest id, 0 if it is unknown.
func (c *Collectors) Named(ingestID string) uint64 {
	found, _ := c.named.Load(ingestID)
	environment, _ := found.(uint64)
	return environment
}

// Applications returns every application, in no order.
func (c *Collectors) Applications() []domain.Application {
	c.mu.Lock()
	defer c.mu.Unlock()
	apps := make([]domain.Application, 0, len(c.ofApp))
	for _, one := range c.ofApp {
		apps = append(apps, one.app)
	}
	return apps
}

// Application returns an application, if it exists.
func (c *Collectors) Application(ref domain.AppRef) (*domain.Application, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, found := c.ofApp[ref]
	return &one.app, found
}

// Publish replaces the entries of one application, unless a later version is known.
func (c *Collectors) Publish(version domain.Version, app domain.Application, keys []domain.IngestKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref := app.Ref()
	if version.Number() < c.ofApp[ref].version.Number() {
		return
	}
	for _, environment := range app.Environments {
		c.named.Store(environment.IngestID(), environment.Number)
	}
	provers := map[string][][32]byte{}
	for _, key := range keys {
		if raw, err := hex.DecodeString(key.Hash); app.RequireUserHash && key.Kind == domain.KeySecret && key.RevokedAt == nil && err == nil && len(raw) == sha256.Size {
			provers[key.Environment] = append(provers[key.Environment], [32]byte(raw))
		}
	}
	present, exclusions := map[[32]byte]bool{}, app.Exclusions.Compile(app.ID)
	for _, key := range keys {
		environment, known := app.Environment(key.Environment)
		raw, err := hex.DecodeString(key.Hash)
		if !known || err != nil || len(raw) != 32 {
			continue
		}
		hash := [32]byte(raw)
		if key.RevokedAt != nil {
			c.former.Store(hash, environment.Number)
			continue
		}
		present[hash] = true
		c.byKey.Store(hash, &domain.Collector{
			App: ref, AppID: app.ID, Environment: environment, KeyID: key.ID, Kind: key.Kind,
			Modules: app.Modules, Origins: app.AllowedOrigins, RetentionDays: app.RetentionDays,
			Exclusions: exclusions, RequireUserHash: app.RequireUserHash, UserHashKeys: provers[key.Environment],
		})
	}
	for _, old := range c.ofApp[ref].hashes {
		if !present[old] {
			if collector := c.Collector(old); collector != nil {
				c.former.Store(old, collector.Environment.Number)
			}
			c.byKey.Delete(old)
		}
	}
	hashes := make([][32]byte, 0, len(present))
	for hash := range present {
		hashes = append(hashes, hash)
	}
	c.ofApp[ref] = published{version, app, hashes}
}

// Remove removes a deleted application, so that its keys belong to no application.
func (c *Collectors) Remove(version domain.Version, app domain.Application) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref := app.Ref()
	if version.Number() < c.ofApp[ref].version.Number() {
		return
	}
	numbers := map[uint64]bool{}
	for _, environment := range app.Environments {
		c.named.Delete(environment.IngestID())
		numbers[environment.Number] = true
	}
	for _, hash := range c.ofApp[ref].hashes {
		c.byKey.Delete(hash)
	}
	c.former.Range(func(hash, environment any) bool {
		if number, ok := environment.(uint64); ok && numbers[number] {
			c.former.Delete(hash)
		}
		return true
	})
	delete(c.ofApp, ref)
}

// EntityKinds returns the kinds of the entities that the snapshot is made of.
func (c *Collectors) EntityKinds() []string { return []string{"application", "key"} }

// PublishEntities publishes the entities of one owner, if it is an application. Keys that cannot be decoded are
// skipped. An application that cannot be decoded stays as it was published last.
func (c *Collectors) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	var version domain.Version
	var app *identity.AppRecord
	var keys []domain.IngestKey
	for _, entity := range entities {
		if entity.Version.Number() > version.Number() {
			version = entity.Version
		}
		if entity.Deleted {
			continue
		}
		switch entity.Kind {
		case "application":
			app = grain.DecodeOrSkip[identity.AppRecord](entity, skipped)
		case "key":
			if record := grain.DecodeOrSkip[keyRecord](entity, skipped); record != nil {
				keys = append(keys, record.key())
			}
		}
	}
	switch {
	case app == nil:
	case app.DeletedAt != nil:
		c.Remove(version, app.Whole())
	default:
		c.Publish(version, app.Whole(), keys)
	}
}
