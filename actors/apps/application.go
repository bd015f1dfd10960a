package apps

import (
	"maps"
	"slices"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
	"svc/domain/annotation"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/domain/share"
)

// The application actor.
//
//	identity   org/app, the two slugs
//	rank       1
//	owns       the application's settings, ingest keys, goals, funnels, annotations and public page
//	persists   entities application, key, goal, funnel, annotation, share; of a deleted application the
//	           first stays, without its settings
//	woken by   calls only
//	limits     none of its own
//	stops      after ten minutes without a message
//
// Every change is published to the collectors and the shares of this node and announced to the other nodes before it is
// answered. So a new key works on the next request, and a revoked one stops (snapshot_sync.go).
const kindApplication = "application"

type application struct {
	app  *identity.AppRecord
	keys map[string]keyRecord
	// goals also holds deleted goals.
	goals       map[string]goal.Goal
	funnels     map[string]funnel.Funnel
	annotations map[string]annotation.Annotation
	// share is the zero value until it is first changed.
	share share.Share
	// publish publishes a change to the ingest path, publishPage to the readers of the public page.
	publish     func(domain.Version, domain.Application, []domain.IngestKey)
	publishPage func(domain.Version, domain.Application, share.Share)
	// remove publishes the deletion of the application to the ingest path.
	remove func(domain.Version, domain.Application)
}

type (
	createApp struct {
		App identity.AppRecord `json:"app"`
	}
	getApp struct {
		Part share.AppPart `json:"part,omitempty"`
	}
	// readApp is an application with the requested part.
	readApp struct {
		identity.AppRecord
		share.AppParts
	}
	updateApp struct {
		Patch   domain.AppPatch `json:"patch"`
		IfMatch *uint64         `json:"ifMatch"`
	}
	mintKey struct {
		Key keyRecord `json:"key"`
	}
	revokeKey struct {
		ID string `json:"id"`
	}
)

var applicationKind = grain.NewKind[*application](kindApplication, 1, 10*time.Minute)

// The methods of the application actor.
var (
	applicationCreate    = grain.On(applicationKind, "create", (*application).onCreate)
	applicationGet       = grain.On(applicationKind, "get", (*application).onGet, grain.Repeatable)
	applicationUpdate    = grain.On(applicationKind, "update", (*application).onUpdate)
	applicationKeys      = grain.On(applicationKind, "keys", (*application).onKeys, grain.Repeatable)
	applicationMintKey   = grain.On(applicationKind, "key.mint", (*application).onMintKey)
	applicationRevokeKey = grain.On(applicationKind, "key.revoke", (*application).onRevokeKey)
)

// Admit refuses everything but the creation and the deletion if the application does not exist, or no longer exists.
func (a *application) Admit(_ time.Time, method string) error {
	switch {
	case method == applicationCreate.Name() || method == applicationDelete.Name():
		return nil
	case a.app == nil || a.app.DeletedAt != nil:
		return domain.NotFound("application")
	}
	return nil
}

func (a *application) Restore(entities []domain.Entity) error {
	a.app = nil
	held := a.held()
	for _, one := range held {
		one.empty()
	}
	for _, entity := range entities {
		if entity.Kind == kindApplication {
			record, err := grain.Decode[identity.AppRecord](entity)
			if err != nil {
				return err
			}
			a.app = &record
			continue
		}
		at := slices.IndexFunc(held, func(one heldKind) bool { return one.kind == entity.Kind })
		if at < 0 {
			continue
		}
		if err := held[at].restore(entity); err != nil {
			return err
		}
	}
	return nil
}

// changedApp returns the outcome of a change that must be published to the ingest path or the readers of the public
// page.
func changedApp[R any](a *application, answer R, writes ...grain.Write) grain.Outcome[R] {
	return grain.Outcome[R]{Answer: answer, Effects: grain.Effects{Writes: writes, After: func(version domain.Version) {
		a.publish(version, a.app.Whole(), a.liveKeys())
		a.publishPage(version, a.app.Whole(), a.share)
	}}}
}

func (a *application) onCreate(_ time.Time, m createApp) (grain.Outcome[identity.AppRecord], error) {
	if a.app != nil {
		return grain.Again(*a.app), nil
	}
	record := m.App
	a.app = &record
	return changedApp(a, record, grain.Put("application", record.ID, record)), nil
}

func (a *application) onGet(_ time.Time, m getApp) (grain.Outcome[readApp], error) {
	return grain.Answer(readApp{AppRecord: *a.app, AppParts: a.parts(m.Part)}), nil
}

// parts returns one part of the application; an empty part is not nil.
func (a *application) parts(part share.AppPart) (parts share.AppParts) {
	switch part {
	case share.AppGoals:
		parts.Goals = append([]goal.Goal{}, a.allGoals()...)
	case share.AppFunnels:
		parts.Funnels = append([]funnel.Funnel{}, a.allFunnels()...)
	case share.AppShare:
		share := a.share
		parts.Share = &share
	}
	return parts
}

func (a *application) onUpdate(now time.Time, m updateApp) (grain.Outcome[identity.AppRecord], error) {
	app := a.app.Whole()
	if m.IfMatch != nil && *m.IfMatch != app.Revision {
		return grain.Outcome[identity.AppRecord]{}, domain.Errorf(domain.CodePrecondition, "The application has changed since; read it again.")
	}
	changed, err := app.Apply(m.Patch, now)
	if err != nil {
		return grain.Outcome[identity.AppRecord]{}, err
	}
	if len(changed) == 0 {
		return grain.Answer(*a.app), nil
	}
	record := identity.RecordApp(app)
	a.app = &record
	return changedApp(a, record, grain.Put("application", record.ID, record)), nil
}

// liveKeys returns the keys that were not revoked, the newest first.
func (a *application) liveKeys() []domain.IngestKey {
	keys := []domain.IngestKey{}
	for _, record := range a.sortedKeys() {
		if record.RevokedAt == nil {
			keys = append(keys, record.key())
		}
	}
	return keys
}

func (a *application) sortedKeys() []keyRecord {
	return slices.SortedFunc(maps.Values(a.keys), func(x, y keyRecord) int { return strings.Compare(y.ID, x.ID) })
}

func (a *application) onKeys(time.Time, grain.None) (grain.Outcome[[]keyRecord], error) {
	live := slices.DeleteFunc(a.sortedKeys(), func(r keyRecord) bool { return r.RevokedAt != nil })
	return grain.Answer(live), nil
}

func (a *application) onMintKey(_ time.Time, m mintKey) (grain.Outcome[keyRecord], error) {
	if made, there := a.keys[m.Key.ID]; there {
		return grain.Again(made), nil
	}
	a.keys[m.Key.ID] = m.Key
	return changedApp(a, m.Key, grain.Put("key", m.Key.ID, m.Key)), nil
}

func (a *application) onRevokeKey(now time.Time, m revokeKey) (grain.Outcome[grain.None], error) {
	record, found := a.keys[m.ID]
	if !found || record.RevokedAt != nil {
		return grain.Outcome[grain.None]{}, domain.NotFound("key")
	}
	record.RevokedAt = &now
	a.keys[m.ID] = record
	return changedApp(a, grain.None{}, grain.Put("key", m.ID, record)), nil
}
