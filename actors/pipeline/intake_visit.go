package pipeline

import (
	"github.com/go-faster/city"

	"svc/domain/event"
	"svc/protos"
)

// placeInSession finds the event's session. The first event of a session names its source. Later pages may name other
// sources: these stay in the URLs of the pages.
func (i *Intake) placeInSession(row *event.Row, e *protos.Event) {
	life := row.Life
	if e.DistinctId != "" && e.AnonymousId != "" {
		life = row.OtherLife
	}
	own := event.Origin{Attribution: row.Attribution, Referrer: row.Referrer}
	session := i.sessions.add(&arrived{
		id: e.Id, environment: e.Environment, thread: row.Thread ^ life, bot: row.IsBot, session: e.SessionId, receivedMs: e.ReceivedMs,
		visitor: idNumber(row.Visitor()) ^ row.Life, known: idNumber(e.DistinctId), device: idNumber(e.AnonymousId),
		step: event.SessionStep{
			TsMs: e.TsMs, Pageview: event.IsPageview(e.Name), Interactive: event.IsInteractive(e.Name), Identity: event.IsIdentity(e.Name),
			EngagedMs: e.EngagedMs,
		},
		origin: own,
	})
	row.Inside, row.Ousted = session.inside, session.ousted
	if !session.inside && own != session.origin {
		origin := own
		row.Own = &origin
	}
	row.SessionNumber, row.Guest = session.number, session.guest
	row.SessionID, row.SessionStartedMs, row.Session = session.id, session.started, session.state
	row.Bounce, row.DurationMs = session.delta.Bounce, session.delta.DurationMs
	row.Attribution, row.Referrer = session.origin.Attribution, session.origin.Referrer
}

// idNumber returns the number that the store computes from an id. It returns 0 for an empty id.
func idNumber(id string) uint64 {
	if id == "" {
		return 0
	}
	return city.CH64([]byte(id))
}
