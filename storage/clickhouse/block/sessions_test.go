package block

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-faster/city"

	"svc/domain/event"
	"svc/protos"
	"svc/storage/clickhouse"
)

// history is the rows of sessions in the order of their arrival, with the state of each session in an intake after each
// row.
type history struct {
	rows     []event.Row
	sessions map[string]*event.OpenSession
}

// arrive adds an event of a session. It begins the session if that is unknown.
func (h *history) arrive(id string, bot bool, at, ts time.Time, name string, engaged int64) {
	key := fmt.Sprint(id, bot)
	session := h.sessions[key]
	if session == nil {
		session = &event.OpenSession{HeardMs: at.UnixMilli(), Counted: city.CH64([]byte("u " + id)), Known: city.CH64([]byte("u " + id))}
		session.SessionName = event.SessionName{Thread: protos.Thread(7, id, "", ""), Bot: bot, Number: uint64(1000 + len(h.sessions))}
		session.Session = event.Session{ID: id, Started: ts.UnixMilli(), First: ts.UnixMilli(), Last: ts.UnixMilli()}
		session.Origin = event.Origin{Referrer: "https://" + id, Attribution: event.Attribution{Source: id, Medium: "m", UTMCampaign: "c " + id, ClickIDs: event.ClickIDs{GCLID: "g " + id}}}
		h.sessions[key] = session
	}
	delta := session.Add(event.SessionStep{TsMs: ts.UnixMilli(), Pageview: event.IsPageview(name), Interactive: event.IsInteractive(name), Identity: event.IsIdentity(name), EngagedMs: engaged})
	session.HeardMs = at.UnixMilli()
	eventID := fmt.Sprint(len(h.rows))
	entry := event.SessionEntry{TsMs: ts.UnixMilli(), Tie: city.CH64([]byte(eventID)), Owner: city.CH64([]byte("u " + id))}
	inside := event.IsIdentity(name) || session.Entry != (event.SessionEntry{}) && !entry.Before(session.Entry)
	if !inside {
		session.Entry = entry
	}
	h.rows = append(h.rows, event.Row{
		Event: event.Event{
			ID: eventID, Name: name, Ts: ts, ReceivedAt: at, DistinctID: "u " + id, SessionID: id, IsBot: bot,
			Attribution: session.Origin.Attribution, Referrer: session.Origin.Referrer,
		},
		EnvironmentNumber: 7, Thread: session.Thread, SessionNumber: session.Number, SessionStartedMs: session.Started, Bounce: delta.Bounce, DurationMs: delta.DurationMs, EngagedMs: engaged,
		Session: session.State(ts.UnixMilli()), Inside: inside, RetentionDays: 3650,
	})
}

// randomHistory returns sessions of one or several events that arrive in a random order over hours.
func randomHistory(seed uint64, begin time.Time) (h history, states []map[string]event.OpenSession) {
	rng := rand.New(rand.NewPCG(seed, 1))
	h.sessions = map[string]*event.OpenSession{}
	for n := range 600 {
		at := begin.Add(time.Duration(n) * time.Minute)
		if n%50 == 0 {
			state := map[string]event.OpenSession{}
			for key, session := range h.sessions {
				state[key] = *session
			}
			states = append(states, state)
		}
		id := fmt.Sprint("s", n/20+rng.IntN(4))
		ts := at.Add(-time.Duration(rng.IntN(90)) * time.Minute)
		name := []string{event.PageView, event.PageView, "click", event.EngagementName, event.IdentifyEvent}[rng.IntN(5)]
		h.arrive(id, rng.IntN(8) == 0, at, ts, name, int64(rng.IntN(2)*rng.IntN(9000)))
	}
	return h, states
}

// TestSessions stores blocks of rows and reads the sessions back as they were before one of the blocks, from only the
// rows of the last minutes.
func TestSessions(t *testing.T) {
	db := open(t)
	begin := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	h, states := randomHistory(1, begin)
	const within = 35 * time.Minute
	entered := 0
	for block, state := range states {
		if block > 0 {
			var last time.Time
			got := map[string]event.OpenSession{}
			for _, row := range h.rows[:50*block] {
				last = row.ReceivedAt
			}
			query := event.SessionsQuery{Since: begin, Within: within, ExceptBlock: uint64(block + 1), Open: 1000, Ended: 1000}
			read := func() {
				t.Helper()
				err := db.Sessions(deadline(t), query, func(s event.OpenSession) { got[fmt.Sprint(s.ID, s.Bot)] = s }, func(event.SessionName) {})
				if err != nil {
					t.Fatal(err)
				}
			}
			read()
			for key, want := range state {
				if want.HeardMs <= last.Add(-within).UnixMilli() {
					continue
				}
				if got[key].Entry == (event.SessionEntry{}) { // its entry arrived before the span
					want.Entry = event.SessionEntry{}
				} else {
					entered++
				}
				if !reflect.DeepEqual(got[key], want) {
					t.Fatalf("block %d, session %s:\n got %+v\nwant %+v", block, key, got[key], want)
				}
			}
		}
		b := db.NewBlock()
		for n := 50 * block; n < 50*(block+1); n++ {
			b.Append(&h.rows[n])
		}
		insert(t, db, fmt.Sprint(block), uint64(block+1), b)
	}
	if entered < 20 {
		t.Errorf("%d sessions have an entry", entered)
	}
}

// TestSessionsReadWhatArrivedLately stores a long history that arrives at once, and later one more event of it. Only
// the rows of the last minutes may be read, no matter when the session began.
func TestSessionsReadWhatArrivedLately(t *testing.T) {
	db := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for block := range 10 {
		h := history{sessions: map[string]*event.OpenSession{}}
		b := db.NewBlock()
		for n := range 20_000 {
			at := now.Add(-time.Duration(10-block) * time.Hour)
			h.arrive(fmt.Sprint("old", n/4), false, at, at.AddDate(0, 0, -n%300), event.PageView, 0)
		}
		if block == 9 {
			h.arrive("old1", false, now, now.AddDate(0, 0, -300), event.PageView, 0)
		}
		for n := range h.rows {
			b.Append(&h.rows[n])
		}
		insert(t, db, fmt.Sprint(block), uint64(block+1), b)
	}
	found := 0
	args := clickhouse.Args{"since": now.Add(-time.Minute), "until": now.Add(time.Minute), "block": uint64(0)}
	err := db.conn.Stream(deadline(t), "x", db.queries["state.Sessions"]+" SETTINGS max_rows_to_read = 50000", args, func(driver.Rows) (bool, error) {
		found++
		return true, nil
	})
	if err != nil || found != 1 {
		t.Errorf("%d sessions, %v", found, err)
	}
}

// TestSessionsOfRowsFromBefore reads a session of rows without session data. Their other columns count, and the
// earliest row determines the origin of the visit.
func TestSessionsOfRowsFromBefore(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	b := db.NewBlock()
	for n, source := range []string{"direct", "news", "direct"} {
		b.Append(&event.Row{
			Event: event.Event{
				ID: fmt.Sprint(n), Name: event.PageView, Ts: at.Add(time.Duration((n+2)%3) * time.Minute), ReceivedAt: at, DistinctID: "u", SessionID: "s",
				Attribution: event.Attribution{Source: source},
			},
			EnvironmentNumber: 7, SessionStartedMs: at.Add(2 * time.Minute).UnixMilli(), EngagedMs: 3, RetentionDays: 3650,
		})
	}
	insert(t, db, "1", 1, b)
	want := event.OpenSession{
		Session: event.Session{
			ID: "s", Started: at.Add(2 * time.Minute).UnixMilli(), First: at.UnixMilli(), Last: at.Add(2 * time.Minute).UnixMilli(), EngagedMs: 9,
			Deeds: event.OnePageview | event.MorePageviews,
		},
		SessionName: event.SessionName{Thread: protos.VisitorHash(7, "u"), Hash: protos.SessionHash("s")}, Counted: city.CH64([]byte("u")), Known: city.CH64([]byte("u")),
		Entry: event.SessionEntry{TsMs: at.UnixMilli(), Tie: city.CH64([]byte("1")), Owner: city.CH64([]byte("u"))}, Origin: event.Origin{Attribution: event.Attribution{Source: "news"}}, HeardMs: at.UnixMilli(),
	}
	var got []event.OpenSession
	err := db.Sessions(deadline(t), event.SessionsQuery{Since: at, Within: time.Hour, Open: 10}, func(s event.OpenSession) { got = append(got, s) }, func(event.SessionName) {})
	for i := range got {
		got[i].Number = 0
	}
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}
