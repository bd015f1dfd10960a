package actors

import (
	"strings"
	"time"

	"svc"
	"svc/protos"
)

// digests takes what a stored block says of one environment.
type digests interface {
	deliver(environment uint64, message *digest)
}

// gather notes a row for those who watch its environment.
func (b *openBlock) gather(row *svc.EventRow) {
	old := row.ReceivedAt.Sub(row.Ts) > svc.LiveSeconds*time.Second
	if len(b.watched) == 0 || row.IsBot || old || !b.watched[row.EnvironmentNumber] {
		return
	}
	b.visits[row.EnvironmentNumber] = append(b.visits[row.EnvironmentNumber], svc.LiveVisit{
		TsMs: row.Ts.UnixMilli(), Visitor: protos.VisitorHash(row.EnvironmentNumber, row.Visitor()), Pageview: svc.IsPageview(row.Name),
		Path: strings.Clone(row.Path), Source: strings.Clone(row.Source), Country: row.Country, Device: row.Device,
	})
}

// digest tells everybody who watches now what a stored block said.
func (s *Sink) digest(b *openBlock, id uint64) {
	for environment := range s.config.Watchers.set() {
		if !b.watched[environment] {
			s.config.Digests.deliver(environment, &digest{block: id, partial: true})
		} else if visits := b.visits[environment]; len(visits) > 0 {
			s.config.Digests.deliver(environment, &digest{block: id, visits: visits})
		}
	}
}
