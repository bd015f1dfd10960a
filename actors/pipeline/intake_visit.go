package pipeline

import (
	"github.com/go-faster/city"

	"svc"
	"svc/protos"
)

// placeInSession finds the event's session. The first event of a session names its source. Later pages may name other
// sources: these stay in the URLs of the pages.
func (i *Intake) placeInSession(row *svc.EventRow, event *protos.Event) {
	life := row.Life
	if event.DistinctId != "" && event.AnonymousId != "" {
		life = row.OtherLife
	}
	own := svc.Origin{Attribution: row.Attribution, Referrer: row.Referrer}
	session := i.sessions.add(&arrived{
		id: event.Id, environment: event.Environment, thread: row.Thread ^ life, bot: row.IsBot, session: event.SessionId, receivedMs: event.ReceivedMs,
		visitor: idNumber(row.Visitor()) ^ row.Life, known: idNumber(event.DistinctId), device: idNumber(event.AnonymousId),
		step: svc.SessionStep{
			TsMs: event.TsMs, Pageview: svc.IsPageview(event.Name), Interactive: svc.IsInteractive(event.Name), Identity: svc.IsIdentity(event.Name),
			EngagedMs: event.EngagedMs,
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
