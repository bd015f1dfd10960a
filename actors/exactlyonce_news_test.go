package actors

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"svc"
	"svc/cluster"
	"svc/protos"
)

// The world's rule waits for new issues. Its alerting actor lives on whatever node owns its
// partition, and dies with it; in the end its incident counts every issue that ever
// occurred, once.

// alertStore keeps what alerting actors own.
type alertStore struct{ *process }

func (s alertStore) Load(_ context.Context, owner string) (out []svc.Entity, err error) {
	if err := s.step(); err != nil {
		return nil, err
	}
	defer s.w.mu.Unlock()
	if s.w.away {
		return nil, errStoreAway
	}
	for _, entity := range s.w.alerts {
		if entity.Owner == owner {
			out = append(out, entity)
		}
	}
	return out, nil
}

func (s alertStore) Put(_ context.Context, entities []svc.Entity, _ []svc.Wakeup) error {
	if err := s.step(); err != nil {
		return err
	}
	away := s.w.away
	for _, entity := range entities {
		key := entity.Owner + " " + entity.Kind + " " + entity.ID
		if !away && entity.Version.Number() > s.w.alerts[key].Version.Number() {
			s.w.alerts[key] = entity
		}
	}
	s.w.mu.Unlock()
	if away {
		return errStoreAway
	}
	return s.done()
}

// IssueTotals counts what is stored.
func (p *process) IssueTotals(_ context.Context, environments, issues []uint64) ([]svc.IssueTotal, error) {
	if err := p.step(); err != nil {
		return nil, err
	}
	defer p.w.mu.Unlock()
	if p.w.away {
		return nil, errStoreAway
	}
	totals := map[uint64]svc.IssueTotal{}
	for _, issue := range issues {
		for _, row := range p.w.occurrences {
			if row.Issue == issue && row.EnvironmentNumber == environments[0] {
				total := totals[issue]
				totals[issue] = svc.IssueTotal{Environment: row.EnvironmentNumber, Issue: issue, Occurrences: total.Occurrences + 1, Name: row.Name}
			}
		}
	}
	out := make([]svc.IssueTotal, 0, len(totals))
	for total := range maps.Values(totals) {
		out = append(out, total)
	}
	return out, nil
}

// newsRule is the only rule of the world.
func newsRule() svc.AlertRule {
	return svc.AlertRule{
		ID: "rul_news", Number: 1, Environment: "production",
		AlertSpec: svc.AlertSpec{Name: "News", Kind: svc.AlertNewIssue, Enabled: true, Comparator: "gt", WindowMinutes: 5},
	}
}

// hostAlerts returns the kind of alerting actors, over the world's store.
func (p *process) hostAlerts(deps Deps) cluster.Kind {
	return deps.storedIn(alertStore{p}, KindAlerting, 1, 50*time.Millisecond, func(string) core {
		return &alerting{app: web(), now: time.Now, changed: func(svc.Version) {}}
	})
}

// listen has the node know the rule.
func (p *process) listen() *Rulebook {
	book := NewRulebook()
	book.Publish(svc.Version{}, web(), []svc.AlertRule{newsRule()})
	return book
}

// produceNews appends a record with errors of issues, some of which nobody has seen.
func (w *world) produceNews() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.tickLocked()
	fresh := w.rng.IntN(w.fresh + 2)
	w.fresh = max(w.fresh, fresh+1)
	fingerprint := fmt.Sprintf("v1-fresh-%d", fresh)
	number := svc.IssueNumber(1, fingerprint)
	partition := protos.PartitionOfIssue(number, w.partitions)
	value, _ := protos.AppendOccurrence(nil, &protos.Occurrence{
		Environment: 1, Id: fmt.Sprintf("error-%d", len(w.acts)), Issue: number, Fingerprint: fingerprint, Name: fingerprint, TsMs: now.UnixMilli(), ReceivedMs: now.UnixMilli(),
	})
	w.log[partition] = append(w.log[partition], svc.LogRecord{Partition: partition, Offset: int64(len(w.log[partition])), Time: now, Value: value})
	w.acts = append(w.acts, &act{issue: number, at: now, moment: now})
}

// checkNews compares what the rule's incident counts with the issues that occurred.
func (w *world) checkNews(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	occurred := map[uint64]bool{}
	for _, row := range w.occurrences {
		occurred[row.Issue] = true
	}
	state, err := decode[svc.AlertState](w.alerts[KindAlerting+"/"+web().String()+" "+kindAlertState+" rul_news"])
	if err != nil || state.Incident == nil {
		t.Fatalf("no incident: %v", err)
	}
	if state.Incident.Occurrences != uint64(len(occurred)) {
		t.Errorf("the rule was told of %d new issues, %d occurred", state.Incident.Occurrences, len(occurred))
	}
}
