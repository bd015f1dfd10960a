package live

import (
	"cmp"
	"log/slog"
	"strings"
	"time"

	"github.com/go-faster/city"

	"svc/actors/attempt"
	"svc/actors/pipeline"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/ingest"
)

// Listener gathers the visits of every block in the environments with an open live view, and passes them to the live
// actors once the block is stored.
type Listener struct {
	pipeline.NopListener
	Subscriptions *Subscriptions
	Updates       *Updates
	Logger        *slog.Logger
}

// Open begins to gather visits. Environments without an open view at this time are left out of the whole block.
func (l *Listener) Open() pipeline.BlockListener {
	return &liveBlock{listener: l, watched: l.Subscriptions.set(), visits: map[uint64][]analytics.LiveVisit{}}
}

// liveBlock holds the visits of one block.
type liveBlock struct {
	pipeline.NopBlockListener
	listener *Listener
	watched  map[uint64]bool
	visits   map[uint64][]analytics.LiveVisit
}

// Saw gathers visits.
func (b *liveBlock) Saw(_ int64, rows *ingest.Rows) {
	if len(b.watched) == 0 {
		return
	}
	attempt.Each(len(rows.Events), func(n int) { b.gather(&rows.Events[n]) }, func(_ int, cause any) {
		b.listener.Logger.Error("a row is stored that live views do not show", "cause", cause)
	})
}

// gather adds the visit of a row, unless it is too old to be shown.
func (b *liveBlock) gather(row *event.Row) {
	old := row.ReceivedAt.Sub(row.Ts) > analytics.LiveSeconds*time.Second
	if row.IsBot || old || row.Session.Deeds&event.Unbegun != 0 || !b.watched[row.EnvironmentNumber] {
		return
	}
	b.visits[row.EnvironmentNumber] = append(b.visits[row.EnvironmentNumber], analytics.LiveVisit{
		TsMs: row.Ts.UnixMilli(), Visitor: cmp.Or(row.Guest, city.CH64([]byte(row.Visitor()))^row.Life), Pageview: event.IsPageview(row.Name),
		Path: strings.Clone(row.Path), Source: strings.Clone(row.Source), Country: row.Country, Device: row.Device,
	})
}

// Committed passes digests to the live actors that have an open view now. A view that was opened after the block was
// begun reads its window from the store again.
func (b *liveBlock) Committed(block uint64) {
	for environment := range b.listener.Subscriptions.set() {
		if !b.watched[environment] {
			b.listener.Updates.deliver(environment, &digest{block: block, partial: true})
		} else if visits := b.visits[environment]; len(visits) > 0 {
			b.listener.Updates.deliver(environment, &digest{block: block, visits: visits})
		}
	}
}
