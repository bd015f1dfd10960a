package actors

import (
	"maps"
	"slices"
	"time"

	"svc"
)

// The application actor.
//
//	identity   org/app, the two slugs
//	rank       1
//	owns       the application's settings, ingest keys, goals, funnels and public page
//	persists   entities application, key, goal, funnel, share
//	woken by   calls only
//	limits     none of its own
//	stops      after ten minutes without a message
//
// Every change is published to the collectors and the shares of this node and
// announced to the others before it is answered, so a new key works on the next
// request and a revoked one stops (changes.go).
const kindApplication = "application"

type application struct {
	app  *appRecord
	keys map[string]keyRecord
	// goals holds the deleted ones as well.
	goals   map[string]svc.Goal
	funnels map[string]svc.Funnel
	// share is the zero value until it is first changed.
	share svc.Share
	// publish makes a change known to the ingest path, publishPage to the readers
	// of the public page.
	publish     func(svc.Version, svc.Application, []svc.IngestKey)
	publishPage func(svc.Version, svc.Application, svc.Share)
}

type (
	createApp struct {
		App appRecord `json:"app"`
	}
	updateApp struct {
		Patch   svc.AppPatch `json:"patch"`
		IfMatch *uint64      `json:"ifMatch"`
	}
	mintKey struct {
		Key keyRecord `json:"key"`
	}
	revokeKey struct {
		ID string `json:"id"`
	}
)

func applicationHandlers() map[string]handler[*application] {
	handlers := map[string]handler[*application]{
		"create":     on((*application).onCreate),
		"get":        on((*application).onGet),
		"update":     on((*application).onUpdate),
		"keys":       on((*application).onKeys),
		"key.mint":   on((*application).onMintKey),
		"key.revoke": on((*application).onRevokeKey),
	}
	maps.Copy(handlers, goalHandlers())
	maps.Copy(handlers, shareHandlers())
	return handlers
}

func (a *application) apply(now time.Time, method string, payload []byte) (outcome, error) {
	if a.app == nil && method != "create" {
		return outcome{}, svc.NotFound("application")
	}
	return dispatch(applicationHandlers(), a, now, method, payload)
}

func (a *application) restore(entities []svc.Entity) error {
	a.app, a.keys, a.share = nil, map[string]keyRecord{}, svc.Share{}
	a.goals, a.funnels = map[string]svc.Goal{}, map[string]svc.Funnel{}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "application":
			var record appRecord
			record, err = decode[appRecord](entity)
			a.app = &record
		case "key":
			a.keys[entity.ID], err = decode[keyRecord](entity)
		case "goal":
			a.goals[entity.ID], err = decode[svc.Goal](entity)
		case "funnel":
			a.funnels[entity.ID], err = decode[svc.Funnel](entity)
		case "share":
			a.share, err = decode[svc.Share](entity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changed is the outcome of a change that the ingest path or the readers of the
// public page must learn of.
func (a *application) changed(answer any, writes ...write) outcome {
	return outcome{answer: answer, writes: writes, after: func(version svc.Version) {
		a.publish(version, a.app.application(), a.liveKeys())
		a.publishPage(version, a.app.application(), a.share)
	}}
}

func (a *application) onCreate(_ time.Time, m createApp) (outcome, error) {
	if a.app != nil {
		return outcome{answer: *a.app}, nil
	}
	record := m.App
	a.app = &record
	return a.changed(record, write{"application", record.ID, record}), nil
}

func (a *application) onGet(time.Time, none) (outcome, error) { return outcome{answer: *a.app}, nil }

func (a *application) onUpdate(now time.Time, m updateApp) (outcome, error) {
	app := a.app.application()
	if m.IfMatch != nil && *m.IfMatch != app.Revision {
		return outcome{}, svc.Errorf(svc.CodePrecondition, "The application has changed since; read it again.")
	}
	changed, err := app.Apply(m.Patch, now)
	if err != nil {
		return outcome{}, err
	}
	if len(changed) == 0 {
		return outcome{answer: *a.app}, nil
	}
	record := recordApp(app)
	a.app = &record
	return a.changed(record, write{"application", record.ID, record}), nil
}

// liveKeys returns the keys that were not revoked, the newest first.
func (a *application) liveKeys() []svc.IngestKey {
	keys := []svc.IngestKey{}
	for _, record := range a.sortedKeys() {
		if record.RevokedAt == nil {
			keys = append(keys, record.key())
		}
	}
	return keys
}

func (a *application) sortedKeys() []keyRecord {
	return slices.SortedFunc(maps.Values(a.keys), func(x, y keyRecord) int { return compareStrings(y.ID, x.ID) })
}

func (a *application) onKeys(time.Time, none) (outcome, error) {
	live := slices.DeleteFunc(a.sortedKeys(), func(r keyRecord) bool { return r.RevokedAt != nil })
	return outcome{answer: live}, nil
}

func (a *application) onMintKey(_ time.Time, m mintKey) (outcome, error) {
	a.keys[m.Key.ID] = m.Key
	return a.changed(m.Key, write{"key", m.Key.ID, m.Key}), nil
}

func (a *application) onRevokeKey(now time.Time, m revokeKey) (outcome, error) {
	record, found := a.keys[m.ID]
	if !found || record.RevokedAt != nil {
		return outcome{}, svc.NotFound("key")
	}
	record.RevokedAt = &now
	a.keys[m.ID] = record
	return a.changed(none{}, write{"key", m.ID, record}), nil
}
