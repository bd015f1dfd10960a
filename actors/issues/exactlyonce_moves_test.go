package issues

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/move"
	"svc/actors/pipeline"
	"svc/domain"
)

// movable are the environments that move between the two shards: two at home on each.
func movable() []uint64 { return []uint64{1, 3, shardEnvironment, shardEnvironment + 128} }

// shardOf returns the shard of an environment as far as a node knows; the caller holds the world's mutex.
func (p *process) shardOf(environment uint64) int {
	if shard, moved := p.places[environment]; moved {
		return shard
	}
	return p.w.home(environment)
}

// home returns the shard that the number of an environment names.
func (w *world) home(environment uint64) int {
	if shard := domain.ShardOf(environment); shard < w.shards {
		return shard
	}
	return 0
}

// finds reports whether a node reads a row: only rows on the shard of their environment are read.
func (p *process) finds(row *storedRow) bool { return row.shard == p.shardOf(row.EnvironmentNumber) }

// placing holds the shards of moved environments for a node, and notes them in the stores.
type placing struct{ *process }

func (p placing) Hear(environment uint64, shard int) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.places[environment] = shard
}

func (p placing) Note(_ context.Context, environment uint64, shard int) error {
	if err := p.step(); err != nil {
		return err
	}
	missing := p.w.missing(p.w.home(environment)) || p.w.missing(p.shardOf(environment)) || p.w.missing(shard)
	if !missing {
		p.w.places[environment], p.places[environment] = shard, shard
	}
	p.w.mu.Unlock()
	if missing {
		return errStoreAway
	}
	return p.done()
}

func (p placing) Learn(_ context.Context, shard int) error {
	if err := p.step(); err != nil {
		return err
	}
	defer p.w.mu.Unlock()
	if p.w.missing(shard) {
		return errStoreAway
	}
	for environment, place := range p.w.places {
		if p.w.home(environment) == shard {
			p.places[environment] = place
		}
	}
	return nil
}

// movingStore implements the stores for a move.
type movingStore struct{ *process }

func (s movingStore) ShardCount() int { return s.w.shards }

func (s movingStore) ShardOf(environment uint64) int {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.shardOf(environment)
}

func (s movingStore) NotePlace(ctx context.Context, environment uint64, shard int) error {
	return placing(s).Note(ctx, environment, shard)
}

func (s movingStore) WithoutChanges(run func() error) error { return run() }
func (s movingStore) WithoutRows(run func() error) error    { return run() }

// ClearMoved removes the rows of one table, then the rows of the other.
func (s movingStore) ClearMoved(_ context.Context, environment uint64, shard int) error {
	for _, table := range []*[]storedRow{&s.w.rows, &s.w.view} {
		if err := s.step(); err != nil {
			return err
		}
		lives, missing := s.shardOf(environment) == shard, s.w.missing(shard)
		if !lives && !missing {
			*table = slices.DeleteFunc(slices.Clone(*table), func(row storedRow) bool { return row.EnvironmentNumber == environment && row.shard == shard })
		}
		s.w.mu.Unlock()
		if lives {
			return fmt.Errorf("environment %d lives on shard %d", environment, shard)
		}
		if missing {
			return errStoreAway
		}
	}
	return s.done()
}

func (s movingStore) CopyOf(_ context.Context, environment uint64, to int) (move.Copy, error) {
	return &movingCopy{process: s.process, environment: environment, from: s.ShardOf(environment), to: to, seen: map[uint64]bool{}}, s.done()
}

// movingCopy copies rows, a few with each step.
type movingCopy struct {
	*process
	environment  uint64
	from, to     int
	seen         map[uint64]bool
	linked, view []storedRow
	listed       []uint64
}

// look runs a step that involves both stores. They do not answer once the caller's time is over.
func (c *movingCopy) look(ctx context.Context, do func()) error {
	if err := c.step(); err != nil {
		return err
	}
	defer c.w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.w.missing(c.from) || c.w.missing(c.to) {
		return errStoreAway
	}
	do()
	return nil
}

// of returns the rows of the environment on a shard, of some blocks or of all.
func (c *movingCopy) of(table []storedRow, shard int, blocks []uint64) (found []storedRow) {
	for _, row := range table {
		if row.EnvironmentNumber == c.environment && row.shard == shard && (blocks == nil || slices.Contains(blocks, row.block)) {
			found = append(found, row)
		}
	}
	return found
}

func (c *movingCopy) Link(ctx context.Context, _ time.Time, _ func(time.Time) uint64) error {
	return c.look(ctx, func() {
		c.linked, c.view = c.of(c.w.rows, c.from, nil), c.of(c.w.view, c.from, nil)
		for _, row := range c.linked {
			c.seen[row.block] = true
		}
	})
}

func (c *movingCopy) Fill(ctx context.Context) error {
	return errors.Join(c.append(ctx, &c.w.rows, c.linked), c.append(ctx, &c.w.view, c.view))
}

// append copies rows into a table of the new shard.
func (c *movingCopy) append(ctx context.Context, table *[]storedRow, rows []storedRow) error {
	for some := range slices.Chunk(rows, 10) {
		err := c.look(ctx, func() {
			for _, row := range some {
				row.shard = c.to
				*table = append(*table, row)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *movingCopy) List(ctx context.Context) error {
	return c.look(ctx, func() {
		for _, row := range c.of(c.w.rows, c.from, nil) {
			if !c.seen[row.block] && !slices.Contains(c.listed, row.block) {
				c.listed = append(c.listed, row.block)
			}
		}
	})
}

func (c *movingCopy) Add(ctx context.Context) error {
	for _, block := range c.listed {
		var rows []storedRow
		err := c.look(ctx, func() { rows = c.of(c.w.rows, c.from, []uint64{block}) })
		if err := errors.Join(err, c.append(ctx, &c.w.rows, rows), c.append(ctx, &c.w.view, rows)); err != nil {
			return err
		}
		c.seen[block] = true
	}
	c.listed = nil
	return nil
}

var errOtherRows = errors.New("the copy has other rows")

func (c *movingCopy) Finish(ctx context.Context) error {
	if err := errors.Join(c.List(ctx), c.Add(ctx)); err != nil {
		return err
	}
	same := false
	err := c.look(ctx, func() {
		same = len(c.of(c.w.rows, c.from, nil)) == len(c.of(c.w.rows, c.to, nil)) && len(c.of(c.w.view, c.from, nil)) == len(c.of(c.w.view, c.to, nil))
	})
	if err == nil && !same {
		return errOtherRows
	}
	return err
}

// movers are the commands that move environments: one at a time. One begins on another node only if its node died.
type movers struct {
	under   *process // guarded by the world's mutex
	running sync.WaitGroup
	ends    map[string]*atomic.Int64
	t       *testing.T
}

// newMovers returns no commands.
func newMovers() *movers {
	m := &movers{ends: map[string]*atomic.Int64{}}
	for _, end := range []string{"moved", "shared", "undecided", "fenced", "dead", "away", "held", "other"} {
		m.ends[end] = &atomic.Int64{}
	}
	return m
}

// command moves an environment through a node. It reports each step.
func (p *process) command(environment uint64, to int, told func(step string)) error {
	mover := &move.Mover{
		Store: movingStore{p}, Stream: p.stream, BlockAt: func(at time.Time) uint64 { return pipeline.NewBlockNumber(at, 0) }, Hold: 20 * time.Second, Now: time.Now,
		Step: func(name string) error { told(name); return p.done() },
	}
	_, err := mover.Move(context.Background(), environment, to)
	return err
}

// strike makes a node die or stand still, now and then, around the decision of a move.
func (p *process) strike(step string) {
	if step != "decide" && step != "note" || p.w.n(3) > 0 {
		return
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.steps, p.pause = p.w.rng.IntN(4), []time.Duration{0, 20 * time.Second}[p.w.rng.IntN(2)]
}

// begin makes a node move an environment, unless another command is under way.
func (m *movers) begin(p *process, environment uint64, to int) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.dead || m.under != nil && !m.under.dead {
		return
	}
	m.under = p
	m.running.Go(func() {
		err := p.command(environment, to, p.strike)
		end := endOf(err)
		m.ends[end].Add(1)
		if end == "other" {
			m.t.Errorf("a command ended with %v", err)
		}
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		if m.under == p {
			m.under = nil
		}
	})
}

// endOf returns a name for the result of a command.
func endOf(err error) string {
	switch {
	case err == nil:
		return "moved"
	case errors.Is(err, pipeline.ErrShared):
		return "shared"
	case errors.Is(err, pipeline.ErrUndecided):
		return "undecided"
	case errors.Is(err, errDead):
		return "dead"
	case errors.Is(err, domain.ErrFenced):
		return "fenced"
	case errors.Is(err, errStoreAway):
		return "away"
	case domain.CodeOf(err) == domain.CodeUnavailable, errors.Is(err, context.DeadlineExceeded):
		return "held"
	}
	return "other"
}

// TestEnvironmentsMoveThroughFaults moves environments between two shards. Meanwhile nodes die, stand still, leave and
// join at any of their durable steps, including the steps of a move, and a store is away now and then. In the end every
// event is stored once, on the shard of its environment, and on no other.
func TestEnvironmentsMoveThroughFaults(t *testing.T) {
	m := newMovers()
	for seed := range *worlds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { moveThroughFaults(t, uint64(seed), m) })
		})
	}
	ends := map[string]int64{}
	for end, count := range m.ends {
		ends[end] = count.Load()
	}
	t.Logf("commands ended like this: %v", ends)
	if ends["moved"] == 0 || ends["shared"] == 0 || ends["dead"] == 0 || ends["undecided"]+ends["fenced"] == 0 {
		t.Errorf("commands ended like this: %v", ends)
	}
}

func moveThroughFaults(t *testing.T, seed uint64, all *movers) {
	w, m := newWorld(seed, 1+int(seed)%3, 2), &movers{ends: all.ends, t: t}
	w.forgetful = seed%2 == 1
	nodes := make([]*process, 1+int(seed/3)%2)
	for i := range nodes {
		nodes[i] = w.start(t)
	}
	w.rebalance(nodes)
	for range 12 {
		w.doom(nodes, 120)
		for range 20 {
			w.produceMovable()
			if w.n(3) == 0 {
				m.begin(nodes[w.n(len(nodes))], movable()[w.n(4)], w.n(2))
			}
			time.Sleep(time.Duration(w.n(40_000_000)))
		}
		w.setAway(w.n(4) == 0)
		w.setAside(w.n(4) == 0)
		w.turn(t, nodes)
		time.Sleep(time.Duration(w.n(400_000_000)))
		w.setAway(false)
		w.setAside(false)
	}
	w.mu.Lock()
	for _, p := range nodes {
		p.steps = -1
	}
	w.mu.Unlock()
	time.Sleep(time.Minute) // nodes that stand still resume
	m.running.Wait()
	w.settle(t, nodes)
	w.rebalance(w.alive(t, nodes)[:1]) // one node owns everything, as a move requires
	w.finishMoves(t, nodes[0])
	for _, p := range nodes {
		p.kill()
	}
	synctest.Wait()
	time.Sleep(time.Minute)
}

// TestANodeHoldsNoShardThatAnotherOwns begins a generation of another node without notifying the first. The first does
// not know which environments moved since, so it holds no shard until it owns one again.
func TestANodeHoldsNoShardThatAnotherOwns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, 2, 2)
		nodes := []*process{w.start(t), w.start(t)}
		w.rebalance(nodes[:1])
		hold := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			held, err := nodes[0].stream.Hold(ctx, 0)
			held.Release()
			return err
		}
		if err := hold(); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		w.generation++
		w.members = map[*process]bool{nodes[1]: true}
		w.mu.Unlock()
		if err := hold(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a node whose generation has ended unheard of held a shard: %v", err)
		}
		w.mu.Lock()
		w.members[nodes[0]] = true
		w.mu.Unlock()
		w.rebalance(nodes[:1])
		if err := hold(); err != nil {
			t.Error(err)
		}
		for _, p := range nodes {
			p.kill()
		}
		synctest.Wait()
		time.Sleep(time.Minute)
	})
}

// produceMovable appends a record of each environment that moves.
func (w *world) produceMovable() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, environment := range movable() {
		w.produceOf(environment, time.Now())
	}
}

// finishMoves repeats the last commands, so that they remove their remains, and then moves each environment once more.
// Before and after, all rows are on the right shard.
func (w *world) finishMoves(t *testing.T, p *process) {
	t.Helper()
	for _, elsewhere := range []int{0, 1} {
		for _, environment := range movable() {
			to := (movingStore{p}.ShardOf(environment) + elsewhere) % 2
			err := p.command(environment, to, func(string) {})
			for range 100 { // the generation may not have begun
				if err == nil {
					break
				}
				time.Sleep(100 * time.Millisecond)
				err = p.command(environment, to, func(string) {})
			}
			if err != nil {
				t.Fatalf("moving environment %d to shard %d at rest: %v", environment, to, err)
			}
		}
		w.mu.Lock()
		for _, table := range [][]storedRow{w.rows, w.view} {
			for _, row := range table {
				if place := p.shardOf(row.EnvironmentNumber); row.shard != place {
					t.Errorf("%s of environment %d is on shard %d, which lives on %d", row.ID, row.EnvironmentNumber, row.shard, place)
				}
			}
		}
		w.mu.Unlock()
		w.check(t)
	}
}
