package issues

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/actors/alerting"
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/event"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/protos"
)

// The world's rules wait for new issues; one of them also waits for regressions. Their alerting actor lives on the node
// that owns its partition, and dies with it. In the end the incidents count every issue once, and every regression of
// an issue once.

// alertStore stores the entities of alerting actors.
type alertStore struct{ *process }

func (s alertStore) Load(_ context.Context, owner string) (out []domain.Entity, err error) {
	if err := s.step(); err != nil {
		return nil, err
	}
	defer s.w.mu.Unlock()
	if s.w.away {
		return nil, errStoreAway
	}
	for _, entity := range s.w.alerts {
		if entity.Owner == owner {
			if s.w.spoiled {
				entity.Payload = []byte("{")
			}
			out = append(out, entity)
		}
	}
	return out, nil
}

func (s alertStore) Put(_ context.Context, entities []domain.Entity, _ []domain.Wakeup, _ domain.Trail) error {
	if err := s.step(); err != nil {
		return err
	}
	away := s.w.away
	if !s.claims(entities[0].Owner) {
		s.w.refused++
		s.w.mu.Unlock()
		return errNotOwner
	}
	for _, entity := range entities {
		key := entity.Owner + " " + entity.Kind + " " + entity.ID
		if known, there := s.w.alerts[key]; there && !away && entity.Version.Number() <= known.Version.Number() {
			s.w.overtaken++
		}
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

// IssueTotals counts the stored occurrences.
func (p *process) IssueTotals(_ context.Context, environments, issues []uint64) ([]issue.Total, error) {
	if err := p.step(); err != nil {
		return nil, err
	}
	defer p.w.mu.Unlock()
	if p.w.away {
		return nil, errStoreAway
	}
	totals := map[uint64]issue.Total{}
	for _, i := range issues {
		for _, row := range p.w.occurrences {
			if row.Issue == i && row.EnvironmentNumber == environments[0] {
				total := totals[i]
				totals[i] = issue.Total{Environment: row.EnvironmentNumber, Issue: i, Occurrences: total.Occurrences + 1, Name: row.Name}
			}
		}
	}
	out := make([]issue.Total, 0, len(totals))
	for total := range maps.Values(totals) {
		out = append(out, total)
	}
	return out, nil
}

// OccurrencesAfter counts the occurrences in blocks after one.
func (p *process) OccurrencesAfter(_ context.Context, environments, issues []uint64, block uint64) ([]issue.Total, error) {
	if err := p.step(); err != nil {
		return nil, err
	}
	defer p.w.mu.Unlock()
	if p.w.away {
		return nil, errStoreAway
	}
	counts := map[uint64]uint64{}
	for _, row := range p.w.occurrences {
		if row.block > block && row.EnvironmentNumber == environments[0] && slices.Contains(issues, row.Issue) {
			counts[row.Issue]++
		}
	}
	out := make([]issue.Total, 0, len(counts))
	for i, count := range counts {
		out = append(out, issue.Total{Environment: environments[0], Issue: i, Occurrences: count})
	}
	return out, nil
}

// worldRules are the rules of the world: one waits for new issues, one also waits for regressions, and one sums up the
// raises of the requests and never fires.
func worldRules() []alert.Rule {
	return []alert.Rule{
		{
			ID: "rul_news", Number: 1, Environment: "production",
			Spec: alert.Spec{
				Name: "News", Kind: alert.NewIssue, Enabled: true, Comparator: "gt", WindowMinutes: 5, Condition: alert.Condition{Regressions: new(false)},
			},
		},
		{
			ID: "rul_back", Number: 1, Environment: "production",
			Spec: alert.Spec{Name: "Back", Kind: alert.NewIssue, Enabled: true, Comparator: "gt", WindowMinutes: 5},
		},
		{
			ID: "rul_sum", Number: 1, Environment: "production",
			Spec: alert.Spec{
				Name: "Sum", Kind: alert.Metric, Enabled: true, Comparator: "gt", Threshold: 1e12, WindowMinutes: alert.MaxWindowMinutes,
				Condition: alert.Condition{Name: "requests", Agg: "sum"},
			},
		},
	}
}

// hostAlerts returns the kind of alerting actors of a cluster with the world's store, and their schedule.
func (p *process) hostAlerts(c *cluster.Cluster, logger *slog.Logger) (cluster.Kind, *alerting.Schedule) {
	p.book = alerting.NewRuleIndex()
	rules, err := settings{}.LoadKind(context.Background(), alerting.KindRule)
	if err != nil {
		panic(err) // these settings never fail
	}
	p.book.PublishEntities(rules[:1], p.skip)
	p.book.PublishEntities(rules[1:], p.skip)
	schedule := alerting.NewSchedule(c, time.Now, alerting.NewScheduleMetrics(prometheus.NewRegistry()), logger)
	ports := &alerting.Ports{
		Actors: c, Store: alertStore{p}, Schedule: schedule, Measures: worldPoints{p}, Rules: p.book, Started: time.Now(), Logger: logger,
	}
	kind := alerting.Kind(&grain.Node{Await: p.await, Workers: grain.NewWorkers(), Now: time.Now, Logger: logger}, ports)
	kind.Idle = 50 * time.Millisecond
	return kind, schedule
}

// settings lists the rules of the world and one of a stranger, which cannot be decoded.
type settings struct{}

func (settings) LoadKind(_ context.Context, kind string) ([]domain.Entity, error) {
	entities := []domain.Entity{{Owner: alerting.KindAlerting + "/mallory/shop", Kind: kind, ID: "rul_poison", Payload: []byte("7")}}
	for _, rule := range worldRules() {
		payload, err := json.Marshal(rule)
		if err != nil {
			return nil, err
		}
		entities = append(entities, domain.Entity{Owner: alerting.KindAlerting + "/" + web().String(), Kind: kind, ID: rule.ID, Payload: payload})
	}
	return entities, nil
}

// skip counts the skipped settings by owner.
func (p *process) skip(entity domain.Entity, _ error) {
	p.w.skipping.Lock()
	defer p.w.skipping.Unlock()
	p.w.skipped[entity.Owner]++
}

// worldPoints reads the points in the world's store.
type worldPoints struct{ p *process }

func (worldPoints) Measure(context.Context, []alert.Rule, time.Time) []alerting.Measured {
	return nil
}

func (m worldPoints) Read(_ context.Context, counters []alert.Counter, at time.Time, since uint64) []alerting.ReadCounter {
	out := make([]alerting.ReadCounter, len(counters))
	err := m.p.step()
	if err == nil {
		defer m.p.w.mu.Unlock()
	}
	for i := range counters {
		if out[i].Err = err; err != nil {
			continue
		}
		if m.p.w.away {
			out[i].Err = errStoreAway
			continue
		}
		for _, row := range m.p.w.points {
			if row.Name == counters[i].Word && row.Count > 0 {
				if at.Sub(row.Ts) <= counters[i].Window()+time.Minute {
					out[i].Slots.At(counters[i].Slot(row.Ts)).Totals.Add(row.Totals)
				}
				if row.block >= since {
					out[i].Blocks = append(out[i].Blocks, row.block)
				}
			}
		}
	}
	return out
}

// web is the application of the waiting rules.
func web() domain.AppRef { return domain.AppRef{Org: "acme", App: "web"} }

// checkCounts compares the count of the counting rule with the true count.
func (w *world) checkCounts(t *testing.T, nodes []*process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	through := w.alive(t, nodes)[0].cluster
	// An actor that is not active is activated and reads the store; an active one has the count.
	stream := grain.Declare[grain.None, grain.None](alerting.KindAlerting, "stream")
	if _, err := stream.Ask(ctx, through, web().String(), grain.None{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Second)
	rows, err := (&alerting.Alerts{Actors: through}).Rules(ctx, web())
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rules, %v", len(rows), err)
	}
	got := 0.0
	if value := rows[2].Seen.LastValue; value != nil {
		got = *value
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if want := w.raised[seriesRequests]; got != want {
		t.Errorf("the rule knows of %v, %v was counted", got, want)
	}
}

// produceNews appends a record with errors of issues, including new ones.
func (w *world) produceNews() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.tickLocked()
	fresh := w.rng.IntN(w.fresh + 2)
	w.fresh = max(w.fresh, fresh+1)
	fingerprint := fmt.Sprintf("v1-fresh-%d", fresh)
	number := occurrence.IssueNumber(1, fingerprint)
	partition := protos.PartitionOfIssue(number, w.partitions)
	value, _ := protos.AppendOccurrence(nil, &protos.Occurrence{
		Environment: 1, Id: fmt.Sprintf("error-%d", len(w.acts)), Issue: number, Fingerprint: fingerprint, Name: fingerprint, TsMs: now.UnixMilli(), ReceivedMs: now.UnixMilli(),
	})
	w.log[partition] = append(w.log[partition], event.LogRecord{Partition: partition, Offset: int64(len(w.log[partition])), Time: now, Value: value})
	w.acts = append(w.acts, &act{issue: number, at: now, moment: now})
}

// checkNews compares the count of the rule's incident with the issues that occurred.
func (w *world) checkNews(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	occurred := map[uint64]bool{}
	for _, row := range w.occurrences {
		occurred[row.Issue] = true
	}
	counted := func(rule string) uint64 {
		state, err := grain.Decode[alert.State](w.alerts[alerting.KindAlerting+"/"+web().String()+" "+"alert_state"+" "+rule])
		if err != nil || state.Incident == nil {
			t.Fatalf("%s has no incident: %v", rule, err)
		}
		return state.Incident.Occurrences
	}
	for n := range formerIssues {
		delete(occurred, formerIssue(n))
	}
	// An heir is not a new issue, unless the actor of its former issue did not answer in time.
	most := len(occurred)
	for n := range formerIssues {
		delete(occurred, w.heir(t, n))
	}
	if got := counted("rul_news"); got < uint64(len(occurred)) || got > uint64(most) {
		t.Errorf("the rule was told of %d new issues, %d to %d occurred", got, len(occurred), most)
	}
	if got := counted("rul_back") - counted("rul_news"); got != uint64(len(w.noted)) {
		t.Errorf("the rule was told of %d regressions, there were %d", got, len(w.noted))
	}
	t.Logf("%d regressions", len(w.noted))
	for owner, entity := range w.decisions {
		if record, err := grain.Decode[issueRecord](entity); err != nil || len(record.Owed) > 0 {
			t.Errorf("%s still owes %v, %v", owner, record.Owed, err)
		}
	}
}
