package issues

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/actors/alerting"
	"svc/actors/grain"
	"svc/actors/pipeline"
	"svc/cluster"
	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/protos"
)

// The world of exactlyonce_test.go also has issues. Errors occur. Members resolve, ignore and reopen issues through any
// node while blocks are under way. Actors are passivated at any moment. Their nodes die or stand still before and after
// every load, save, call and query of the coordinator. The real cluster hosts the actors; only its wire, its directory
// and the coordinator belong to the world.

type storedOccurrence struct {
	occurrence.Row
	block uint64
}

// act is one occurrence or patch of an issue.
type act struct {
	issue uint64
	// at is when it was accepted, or for a patch when its actor executed it.
	at time.Time
	// patch is nil for an occurrence, which has a moment and a release.
	patch   *issue.Patch
	moment  time.Time
	release string
	// sure says that the caller of the patch received the answer that it is durable.
	sure bool
	// asked is when the patch was requested. An occurrence that was accepted between then and the execution may be
	// newer than the patch, or not.
	asked time.Time
}

// worldIssues is the number of issues in a world.
const worldIssues = 4

func worldIssue(n int) (fingerprint string, number uint64) {
	fingerprint = fmt.Sprintf("v1-%d", n)
	return fingerprint, occurrence.IssueNumber(1, fingerprint)
}

// releasesSeen returns alpha before beta; other releases were never seen.
func releasesSeen() map[string]time.Time {
	return map[string]time.Time{"alpha": time.Unix(0, 0), "beta": time.Unix(1, 0)}
}

// tick returns the next instant, which is unique.
func (w *world) tick() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tickLocked()
}

func (w *world) tickLocked() time.Time {
	w.last = w.last.Add(time.Millisecond)
	if now := time.Now().Truncate(time.Millisecond); now.After(w.last) {
		w.last = now
	}
	return w.last
}

// produceError appends a record with an error that occurs now to the log. Some errors happened long before, some are
// sent twice, and some are accepted by a node with a wrong clock.
func (w *world) produceError() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.tickLocked()
	fingerprint, number := worldIssue(w.rng.IntN(worldIssues))
	happened, accepted := now, now
	switch w.rng.IntN(4) {
	case 0:
		happened = now.Add(-time.Duration(w.rng.IntN(3600)) * time.Second)
	case 1:
		accepted = now.Add(time.Duration(w.rng.IntN(7)-3) * time.Second)
	}
	release := []string{"", "1.0.0", "2.0.0", "alpha", "beta"}[w.rng.IntN(5)]
	id := fmt.Sprintf("error-%d", len(w.acts))
	value, _ := protos.AppendOccurrence(nil, &protos.Occurrence{
		Environment: 1, Id: id, Issue: number, Fingerprint: fingerprint, Name: "E", Release: release, TsMs: happened.UnixMilli(), ReceivedMs: accepted.UnixMilli(),
	})
	if !w.forgetful && w.rng.IntN(5) == 0 {
		value = append(value, value...)
	}
	partition := protos.PartitionOfIssue(number, w.partitions)
	copies := 1
	if !w.forgetful && w.rng.IntN(5) == 0 {
		copies = 2
	}
	for range copies {
		offset := int64(len(w.log[partition]))
		w.log[partition] = append(w.log[partition], event.LogRecord{Partition: partition, Offset: offset, Time: now, Value: value})
	}
	w.acts = append(w.acts, &act{issue: number, at: now, moment: issue.HitMoment(happened, now), release: release})
}

func (p *process) insertOccurrences(token string, id uint64, rows []occurrence.Row) error {
	if len(rows) == 0 {
		return nil
	}
	if err := p.step(); err != nil {
		return err
	}
	defer p.w.mu.Unlock()
	if p.w.away {
		return errStoreAway
	}
	if slices.ContainsFunc(rows, func(row occurrence.Row) bool { return row.Name == poisonName }) {
		return ingest.ErrRefused
	}
	if p.w.notes["occurrences "+token] {
		return nil
	}
	p.w.notes["occurrences "+token] = true
	for _, row := range rows {
		p.w.occurrences = append(p.w.occurrences, storedOccurrence{row, id})
	}
	return nil
}

func (p *process) RecentErrors(_ context.Context, _ time.Time, except uint64, _ int, yield func(uint64, [2]uint64)) error {
	if err := p.step(); err != nil {
		return err
	}
	defer p.w.mu.Unlock()
	for _, row := range p.w.occurrences {
		if !p.w.forgetful && row.block != except {
			yield(row.Issue, protos.OccurrenceKey(row.Issue, event.Visitor(row.DistinctID, row.AnonymousID), row.ID))
		}
	}
	return nil
}

func (p *process) WatchedIssues(_ context.Context, partitions int, owned []int) ([]domain.Entity, error) {
	if err := p.step(); err != nil {
		return nil, err
	}
	defer p.w.mu.Unlock()
	if p.w.away {
		return nil, errStoreAway
	}
	out := []domain.Entity{{Owner: kindIssue + "/666", Kind: "issue", ID: "666", Payload: []byte("{")}} // of an unknown owner
	for _, entity := range p.w.decisions {
		record, err := grain.Decode[issueRecord](entity)
		if err != nil {
			return nil, err
		}
		if record.Watched() && slices.Contains(owned, protos.PartitionOfIssue(record.Issue, partitions)) {
			out = append(out, entity)
		}
	}
	return out, nil
}

func (p *process) FirstSeen(_ context.Context, _ uint64, releases []string) (map[string]time.Time, error) {
	seen := releasesSeen()
	for release := range seen {
		if !slices.Contains(releases, release) {
			delete(seen, release)
		}
	}
	return seen, p.done()
}

// errNotOwner is the error of a write by a process after another one has taken the partition.
var errNotOwner = errors.New("another process has taken the partition")

// worldClaim is the claim of a partition: the last process that took it has it.
type worldClaim struct {
	p         *process
	partition int
	lost      chan struct{}
	over      bool // guarded by the world's mutex
}

func (c *worldClaim) Lost() <-chan struct{} { return c.lost }

func (c *worldClaim) Close() {
	c.p.w.mu.Lock()
	defer c.p.w.mu.Unlock()
	if c.over = true; c.p.taken[c.partition] == c {
		delete(c.p.taken, c.partition)
	}
}

// Take takes a claim away from its present holder, which notices some time later.
func (p *process) Take(_ context.Context, partition int) (cluster.Claim, error) {
	if err := p.step(); err != nil {
		return nil, err
	}
	c := &worldClaim{p: p, partition: partition, lost: make(chan struct{})}
	if before := p.w.claimed[partition]; before != nil {
		time.AfterFunc(time.Duration(p.w.rng.IntN(20_000_000)), func() { close(before.lost) })
	}
	p.w.claimed[partition], p.taken[partition] = c, c
	p.w.mu.Unlock()
	return c, p.done()
}

// claims reports whether the process has the claim of an owner's partition, as the log does when
// a write arrives; the caller holds the world's mutex.
func (p *process) claims(owner string) bool {
	c := p.w.claimed[p.partitionOf(owner)]
	return c != nil && p.taken[c.partition] == c && !c.over
}

func (p *process) partitionOf(owner string) int {
	kind, identity, _ := strings.Cut(owner, "/")
	return p.cluster.PartitionOf(kind, identity)
}

// await waits for the claim of an owner's partition.
func (p *process) await(ctx context.Context, owner string) error {
	return p.claim.Await(ctx, p.partitionOf(owner))
}

// Load and Put implement the store of the issues' entities. A write counts if its writer has the claim when it arrives,
// however long it was on its way.
func (p *process) Load(_ context.Context, owner string) ([]domain.Entity, error) {
	if err := p.step(); err != nil {
		return nil, err
	}
	defer p.w.mu.Unlock()
	if p.w.away {
		return nil, errStoreAway
	}
	if entity, known := p.w.decisions[owner]; known {
		if p.w.spoiled {
			entity.Payload = []byte("{")
		}
		return []domain.Entity{entity}, nil
	}
	return nil, nil
}

func (p *process) Put(_ context.Context, entities []domain.Entity, _ []domain.Wakeup, _ domain.Trail) error {
	if err := p.step(); err != nil {
		return err
	}
	away := p.w.away
	if !p.claims(entities[0].Owner) {
		p.w.refused++
		p.w.mu.Unlock()
		return errNotOwner
	}
	for _, entity := range entities {
		if entity.Kind != "issue" {
			continue // only the issue's own record holds decisions
		}
		if known, there := p.w.decisions[entity.Owner]; there && !away && entity.Version.Number() <= known.Version.Number() {
			p.w.overtaken++
		}
		if !away && entity.Version.Number() > p.w.decisions[entity.Owner].Version.Number() {
			p.w.decisions[entity.Owner] = entity
		}
	}
	p.w.mu.Unlock()
	if away {
		return errStoreAway
	}
	return p.done()
}

// recorded is an issue that records its patches as acts when they are executed. It also records the blocks with which
// it regressed as far as the alert rules know.
type recorded struct {
	issueActor
	w *world
}

// recordedKind is the kind of recorded issues.
func recordedKind() *grain.Kind[*recorded] {
	kind := grain.NewKind[*recorded](kindIssue, 1, 50*time.Millisecond)
	grain.On(kind, "patch", func(r *recorded, now time.Time, m patchIssue) (grain.Outcome[issue.Change], error) {
		r.w.mu.Lock()
		r.w.acts = append(r.w.acts, &act{issue: r.number, at: now, patch: &m.Patch, asked: r.w.asked[*m.Patch.AssigneeID]})
		r.w.mu.Unlock()
		return r.onPatch(now, m)
	})
	grain.On(kind, "noted", func(r *recorded, now time.Time, m notedRegression) (grain.Outcome[grain.None], error) {
		r.w.mu.Lock()
		r.w.noted[[2]uint64{m.Block, r.number}] = true
		r.w.mu.Unlock()
		return r.onNoted(now, m)
	})
	grain.On(kind, "occurred", ofIssue((*issueActor).onOccurred))
	grain.On(kind, "adopt", ofIssue((*issueActor).onAdopt))
	grain.On(kind, "release", ofIssue((*issueActor).onRelease))
	grain.On(kind, "join", ofIssue((*issueActor).onJoin))
	grain.On(kind, "continue", ofIssue((*issueActor).onContinue))
	grain.On(kind, "leave", ofIssue((*issueActor).onLeave))
	return kind
}

// ofIssue makes a recorded issue handle a message as any issue does.
func ofIssue[M, R any](handle grain.Handler[*issueActor, M, R]) grain.Handler[*recorded, M, R] {
	return func(r *recorded, now time.Time, m M) (grain.Outcome[R], error) { return handle(&r.issueActor, now, m) }
}

// End returns the end of the log of a partition.
func (p *process) End(_ context.Context, partition int) (int64, error) {
	if err := p.step(); err != nil {
		return 0, err
	}
	defer p.w.mu.Unlock()
	return int64(len(p.w.log[partition])), nil
}

// hostIssues makes a node host the issues of its partitions.
func (p *process) hostIssues(t *testing.T, ctx context.Context, ownership *pipeline.Ownership) {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	p.watch = &ResolvedSet{Store: p, Partitions: p.w.partitions, Skipped: p.skip}
	node := &grain.Node{Store: p, Await: p.await, Workers: grain.NewWorkers(), Now: p.w.tick, Logger: logger}
	kind := recordedKind().Row(node, func(identity string) *recorded {
		return &recorded{issueActor{number: issueOfIdentity(identity), resolved: p.watch}, p.w}
	})
	kind.Partition = issuePartition
	var schedule *alerting.Schedule
	var err error
	p.cluster, err = cluster.New(cluster.Config{
		Kinds: func(c *cluster.Cluster) ([]cluster.Kind, error) {
			var alerts cluster.Kind
			alerts, schedule = p.hostAlerts(c, logger)
			return []cluster.Kind{kind, alerts}, nil
		},
		Partitions: p.w.partitions, Placement: ownership, Wire: p, Directory: p,
		IdleSweep: 40 * time.Millisecond, Logger: logger, Metrics: cluster.NewMetrics(prometheus.NewRegistry()),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.claim = cluster.NewClaims(cluster.ClaimsConfig{Take: p.Take, Evict: p.cluster.Evict, Vacated: p.cluster.Vacated, Confirm: p.fence, Logger: logger})
	go func() { _ = p.claim.Run(ctx) }()
	go func() { _ = schedule.Run(ctx) }()
	p.issues = &Issues{Actors: p.cluster, Releases: p, Log: p, Shape: p.w.shape()}
	go func() { _ = p.cluster.Run(ctx) }() // fails if a node dies while it stands still
}

// Holds reports whether no other node can own the partitions of this one; see [Lease].
func (p *process) Holds(generation int32) bool {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return generation == p.w.generation && p.w.members[p]
}

func (p *process) fence(_ context.Context, generation uint32) error {
	if err := p.step(); err != nil {
		return err
	}
	present := int32(generation) == p.w.generation && p.w.members[p]
	p.w.mu.Unlock()
	if !present {
		return cluster.ErrMoved
	}
	return p.done()
}

// Owner, Refresh, Self, Serve and Call implement the node's directory and wire.
func (p *process) Owner(_ context.Context, partition int) (string, error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if owner := p.w.owners[partition]; owner != "" {
		return owner, nil
	}
	return "", errors.New("nobody")
}

func (p *process) Refresh() {}

func (p *process) Self() string { return p.name }

func (p *process) Serve(answer func(context.Context, *protos.Call) (*protos.Answer, error)) {
	p.answer = answer
}

func (p *process) Call(ctx context.Context, address string, call *protos.Call) (*protos.Answer, error) {
	if err := p.done(); err != nil {
		return nil, cluster.ErrLost
	}
	p.w.mu.Lock()
	to := p.w.nodes[address]
	dead := to.dead
	p.w.mu.Unlock()
	if dead {
		return nil, cluster.ErrMoved
	}
	answer, err := to.answer(ctx, call)
	if to.done() != nil || p.done() != nil {
		return nil, cluster.ErrLost
	}
	return answer, err
}

// change changes an issue as a member would, through this node. The name of the assignee is unique, so the patch is
// found again among the acts.
func (p *process) change() {
	w := p.w
	w.mu.Lock()
	_, number := worldIssue(w.rng.IntN(worldIssues))
	status := []issue.Status{issue.Resolved, issue.Resolved, issue.Ignored, issue.Open}[w.rng.IntN(4)]
	person := fmt.Sprintf("usr_%d", w.rng.Uint64())
	patch := issue.Patch{Status: &status, AssigneeID: &person}
	if release := []string{"", "2.0.0", "beta"}[w.rng.IntN(3)]; status == issue.Resolved && release != "" {
		patch.ResolvedInRelease = &release
	}
	asked := w.tickLocked()
	w.asked[person] = asked
	w.mu.Unlock()
	if _, err := p.issues.Change(context.Background(), 1, number, patch, issue.Author{}); err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.acts {
		if a.patch != nil && *a.patch.AssigneeID == person {
			a.sure = true
		}
	}
}

// life is one possible history of an issue's acts with the resulting state. Unsure acts before the number bound can no
// longer take effect.
type life struct {
	state issue.State
	bound int
}

// resolutions returns the states to which a patch can have led. A resolution may already have been undone by an
// occurrence that was accepted while it was under way.
func resolutions(after issue.State, before []*act, patch *act) []issue.State {
	after.ResolvedEnd = nil // the lives are ordered by time
	possible := []issue.State{after}
	for _, a := range before {
		if a.patch == nil && a.at.After(patch.asked) && a.moment.Equal(a.at) {
			if next, _ := after.Occurred([]issue.Hit{{Release: a.release, Moment: patch.at.Add(time.Millisecond)}}, releasesSeen()); next.Status != after.Status {
				possible = append(possible, next)
			}
		}
	}
	return possible
}

// key identifies a life.
func (l life) key() string {
	state, _ := json.Marshal(l.state) // a struct of strings and times
	return fmt.Sprintf("%d %s", l.bound, state)
}

// lives returns the possible histories of an issue through its acts in the order of time. A patch that was answered as
// durable took effect at its time. An unanswered patch may have taken effect at any later time, or never, but not after
// a later write, which has a higher version.
func lives(acts []*act) []life {
	possible := []life{{}}
	late := func(until int) {
		for _, l := range slices.Clone(possible) {
			for n := l.bound; n < until; n++ {
				if a := acts[n]; a.patch != nil && !a.sure {
					for _, state := range resolutions(l.state.Apply(a.at, *a.patch), acts[:n], a) {
						possible = append(possible, life{state, n + 1})
					}
				}
			}
		}
		slices.SortFunc(possible, func(a, b life) int { return cmp.Compare(a.key(), b.key()) })
		possible = slices.CompactFunc(possible, func(a, b life) bool { return a.key() == b.key() })
	}
	for n, a := range acts {
		late(n)
		switch {
		case a.patch == nil:
			for i, l := range possible {
				next, _ := l.state.Occurred([]issue.Hit{{Release: a.release, Moment: a.moment}}, releasesSeen())
				if next.Status != l.state.Status {
					possible[i] = life{next, n}
				}
			}
		case a.sure:
			var next []life
			for _, state := range resolutions(possible[0].state.Apply(a.at, *a.patch), acts[:n], a) {
				next = append(next, life{state, n})
			}
			possible = next
		}
	}
	late(len(acts))
	return possible
}

// checkIssues compares every issue with the result of its acts in the order of their time, and counts the stored
// occurrences.
func (w *world) checkIssues(t *testing.T) {
	t.Helper()
	if w.overtaken > 0 {
		t.Errorf("%d writes of actors were stored whose writers did not know the last ones", w.overtaken)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	stored := map[string]int{}
	for _, row := range w.occurrences {
		stored[row.ID]++
	}
	slices.SortStableFunc(w.acts, func(a, b *act) int { return a.at.Compare(b.at) })
	occurred := 0
	acts := map[uint64][]*act{}
	for _, a := range w.acts {
		acts[a.issue] = append(acts[a.issue], a)
		if a.patch == nil {
			occurred++
		}
	}
	if len(stored) != occurred || len(w.occurrences) != occurred {
		t.Errorf("%d occurrences are stored, %d of them different; %d happened", len(w.occurrences), len(stored), occurred)
	}
	for n := range worldIssues {
		_, number := worldIssue(n)
		var got issueRecord
		if entity, known := w.decisions[kindIssue+"/"+issueIdentity(1, number)]; known {
			var err error
			if got, err = grain.Decode[issueRecord](entity); err != nil {
				t.Fatal(err)
			}
		}
		w.checkIssue(t, n, got, lives(acts[number]))
	}
}

// checkIssue checks that an issue has one of its possible states.
func (w *world) checkIssue(t *testing.T, n int, got issueRecord, possible []life) {
	t.Helper()
	var wanted []string
	for _, l := range possible {
		if got.At(w.last) == l.state.At(w.last) && got.ResolvedInRelease == l.state.ResolvedInRelease && got.AssigneeID == l.state.AssigneeID {
			return
		}
		wanted = append(wanted, fmt.Sprintf("%q (%s, %s)", l.state.Status, l.state.ResolvedInRelease, l.state.AssigneeID))
	}
	t.Errorf("issue %d is %q (%s, %s); in the order of time it would be one of %v", n, got.Status, got.ResolvedInRelease, got.AssigneeID, wanted)
}
