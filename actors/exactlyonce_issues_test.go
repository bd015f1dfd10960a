package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc"
	"svc/protos"
)

// The world of exactlyonce_test.go has issues as well: errors occur, people
// resolve, ignore and reopen while blocks are under way, actors are passivated
// at any moment, and the process dies before and after every save.

type storedOccurrence struct {
	svc.OccurrenceRow
	block uint64
}

// act is one thing that an issue went through, in the order of time.
type act struct {
	issue uint64
	at    time.Time
	// patch is nil for an occurrence, which has a moment and a release.
	patch   *svc.IssuePatch
	moment  time.Time
	release string
}

// worldIssues is how many issues a world has.
const worldIssues = 4

func worldIssue(n int) (fingerprint string, number uint64) {
	fingerprint = fmt.Sprintf("v1-%d", n)
	return fingerprint, svc.IssueNumber(1, fingerprint)
}

// tick returns the next instant.
func (w *world) tick() time.Time {
	w.now = w.now.Add(time.Millisecond)
	return w.now
}

// produceError appends a record with an error that occurs now to the log; some
// happened long before, some are sent twice.
func (w *world) produceError() {
	now := w.tick()
	fingerprint, number := worldIssue(w.rng.IntN(worldIssues))
	happened := now
	if w.rng.IntN(4) == 0 {
		happened = now.Add(-time.Duration(w.rng.IntN(3600)) * time.Second)
	}
	release := []string{"", "1.0.0", "2.0.0", "alpha", "beta"}[w.rng.IntN(5)]
	id := fmt.Sprintf("error-%d", len(w.acts))
	value, _ := protos.AppendOccurrence(nil, &protos.Occurrence{
		Environment: 1, Id: id, Issue: number, Fingerprint: fingerprint, Name: "E", Release: release, TsMs: happened.UnixMilli(), ReceivedMs: now.UnixMilli(),
	})
	if !w.forgetful && w.rng.IntN(5) == 0 {
		value = append(value, value...)
	}
	partition := protos.PartitionOfIssue(number, w.partitions)
	offset := int64(len(w.log[partition]))
	w.log[partition] = append(w.log[partition], svc.LogRecord{Partition: partition, Offset: offset, Time: now, Value: value})
	w.acts = append(w.acts, act{issue: number, at: now, moment: svc.HitMoment(happened, now), release: release})
}

func (w *world) insertOccurrences(token string, id uint64, rows []svc.OccurrenceRow) error {
	if len(rows) == 0 {
		return nil
	}
	if err := w.step(); err != nil {
		return err
	}
	if w.notes["occurrences "+token] {
		return nil
	}
	w.notes["occurrences "+token] = true
	for _, row := range rows {
		w.occurrences = append(w.occurrences, storedOccurrence{row, id})
	}
	return nil
}

func (w *world) RecentErrors(_ context.Context, _ time.Time, except uint64, _ int, yield func(uint64, [2]uint64)) error {
	for _, row := range w.occurrences {
		if !w.forgetful && row.block != except {
			yield(row.Issue, protos.EventKey(row.EnvironmentNumber, row.ID))
		}
	}
	return w.step()
}

func (w *world) WatchedIssues(context.Context) ([]svc.Entity, error) {
	var out []svc.Entity
	for _, entity := range w.decisions {
		record, err := decode[issueRecord](entity)
		if err != nil {
			return nil, err
		}
		if record.Watched() {
			out = append(out, entity)
		}
	}
	return out, w.step()
}

// FirstSeen says that alpha came before beta, and anything else never.
func (w *world) FirstSeen(_ context.Context, _ uint64, releases []string) (map[string]time.Time, error) {
	seen := map[string]time.Time{}
	for n, release := range []string{"alpha", "beta"} {
		if slices.Contains(releases, release) {
			seen[release] = time.Unix(int64(n), 0)
		}
	}
	return seen, w.step()
}

// change changes an issue as a person would.
func (p *process) change(ctx context.Context) {
	_, number := worldIssue(p.w.rng.IntN(worldIssues))
	status := []svc.IssueStatus{svc.IssueResolved, svc.IssueResolved, svc.IssueIgnored, svc.IssueOpen}[p.w.rng.IntN(4)]
	patch := svc.IssuePatch{Status: &status}
	if release := []string{"", "2.0.0", "beta"}[p.w.rng.IntN(3)]; status == svc.IssueResolved && release != "" {
		patch.ResolvedInRelease = &release
	}
	_, _ = p.issues.Change(ctx, 1, number, patch) // what was saved is noted by Call
}

// Call runs an issue at once, in place of its mailbox and shell, with a save
// before and after which the process may die.
func (p *process) Call(_ context.Context, call *protos.Call) (*protos.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	present, err := p.resident(call)
	if err != nil {
		return failure(svc.Unavailable("The store", time.Second)), nil
	}
	now := p.w.tick()
	result, err := present.apply(now, call.GetMethod(), call.GetPayload())
	if err != nil {
		return failure(err), nil
	}
	if len(result.writes) > 0 {
		if err := p.save(call, now, result.writes[0]); err != nil {
			delete(p.residents, call.GetIdentity())
			return failure(svc.Unavailable("The store", time.Second)), nil
		}
	}
	if result.after != nil {
		result.after()
	}
	if p.w.rng.IntN(3) == 0 {
		delete(p.residents, call.GetIdentity())
	}
	return success(result.answer), nil
}

// resident returns an issue, read from the store where it is not in memory.
func (p *process) resident(call *protos.Call) (*issue, error) {
	identity := call.GetIdentity()
	if present := p.residents[identity]; present != nil {
		return present, nil
	}
	if err := p.step(call); err != nil {
		return nil, err
	}
	present := &issue{number: issueOfIdentity(identity), watch: p.watch}
	var entities []svc.Entity
	if entity, known := p.w.decisions[identity]; known {
		entities = append(entities, entity)
	}
	p.residents[identity] = present
	return present, present.restore(entities)
}

// save stores an entity and notes what a person decided.
func (p *process) save(call *protos.Call, now time.Time, w write) error {
	if err := p.step(call); err != nil {
		return err
	}
	payload, err := json.Marshal(w.value)
	if err != nil {
		return err
	}
	p.w.decisions[call.GetIdentity()] = svc.Entity{Owner: "issue/" + call.GetIdentity(), Kind: w.kind, ID: w.id, Payload: payload}
	var message patchIssue
	if call.GetMethod() == "patch" {
		if err := json.Unmarshal(call.GetPayload(), &message); err != nil {
			return err
		}
		p.w.acts = append(p.w.acts, act{issue: issueOfIdentity(call.GetIdentity()), at: now, patch: &message.Patch})
	}
	return p.step(call)
}

// step is a step of the world. A person's wish is no step of an orderly end,
// which ends the sink's work and nobody else's.
func (p *process) step(call *protos.Call) error {
	if p.w.orderly && call.GetMethod() == "patch" {
		return nil
	}
	return p.w.step()
}

// checkIssues compares every issue with what the acts in the order of their time
// make of it, and counts the stored occurrences.
func (w *world) checkIssues(t *testing.T) {
	t.Helper()
	stored := map[string]int{}
	for _, row := range w.occurrences {
		stored[row.ID]++
	}
	slices.SortStableFunc(w.acts, func(a, b act) int { return a.at.Compare(b.at) })
	want := map[uint64]svc.IssueState{}
	firstSeen := map[string]time.Time{"alpha": time.Unix(0, 0), "beta": time.Unix(1, 0)}
	occurred := 0
	for _, a := range w.acts {
		if a.patch != nil {
			want[a.issue] = want[a.issue].Apply(a.at, *a.patch)
			continue
		}
		occurred++
		want[a.issue], _ = want[a.issue].Occurred([]svc.IssueHit{{Release: a.release, Moment: a.moment}}, firstSeen)
	}
	if len(stored) != occurred || len(w.occurrences) != occurred {
		t.Errorf("%d occurrences are stored, %d of them different; %d happened", len(w.occurrences), len(stored), occurred)
	}
	for n := range worldIssues {
		_, number := worldIssue(n)
		var got issueRecord
		if entity, known := w.decisions[issueIdentity(1, number)]; known {
			var err error
			if got, err = decode[issueRecord](entity); err != nil {
				t.Fatal(err)
			}
		}
		if got.At(w.now) != stateAt(want[number], w.now) || got.ResolvedInRelease != want[number].ResolvedInRelease {
			t.Errorf("issue %d is %q, in the order of time it would be %q", n, got.Status, want[number].Status)
		}
	}
}

func stateAt(s svc.IssueState, now time.Time) svc.IssueStatus { return s.At(now) }
