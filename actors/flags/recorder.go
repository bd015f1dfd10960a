package flags

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"svc"
)

// Kept is where evaluations and exposures are stored.
type Kept interface {
	// AppendFlagCounts and AppendFlagExposures add rows; repeated under the same token they change nothing.
	AppendFlagCounts(ctx context.Context, token string, counts []svc.FlagCount) error
	AppendFlagExposures(ctx context.Context, token string, exposures []svc.FlagExposure) error
}

// Sizes of a recorder.
const (
	// remembered is how many exposures a node remembers, so that it does not store them again.
	remembered = 1 << 18
	// waitingExposures bounds those that wait for the store. What is beyond is noted at a later evaluation.
	waitingExposures = 100_000
	// recordEvery is how often the store is written; lastRecord bounds the write at the end.
	recordEvery = 2 * time.Second
	lastRecord  = 5 * time.Second
	// batchRows bounds one insert.
	batchRows = 20_000
)

// Recorder has evaluations counted and exposures stored. A node that is killed loses those of the last seconds; while the
// store is away they wait in memory.
type Recorder struct {
	Definitions *Definitions
	Store       Kept
	// Applications returns every application of the node.
	Applications func() []svc.Application
	// Records reports whether exposures of an environment are kept, by the application's policy.
	Records func(environment uint64) bool
	// Name distinguishes the runs of all nodes.
	Name   string
	Now    func() time.Time
	Logger *slog.Logger

	// seen holds, at the place of an exposure's hash, the last exposure that was noted there.
	seen [remembered]atomic.Uint64

	mu      sync.Mutex
	waiting []svc.FlagExposure
}

// Expose notes that a visitor of an environment was served an outcome. It neither waits nor fails.
func (r *Recorder) Expose(environment, visitor uint64, outcome *svc.FlagOutcome, now time.Time) {
	sum := visitor ^ environment*0x9E3779B97F4A7C15 ^ outcome.Number()*0xC2B2AE3D27D4EB4F
	sum ^= sum >> 29
	place := &r.seen[sum%remembered]
	if place.Load() == sum || r.Records != nil && !r.Records(environment) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) >= waitingExposures {
		return
	}
	place.Store(sum)
	r.waiting = append(r.waiting, svc.FlagExposure{Environment: environment, Flag: outcome.Flag().Key, Variant: outcome.Variant(), Visitor: visitor, At: now})
}

// Run stores what was counted until ctx ends, and then what is left.
func (r *Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(recordEvery)
	defer ticker.Stop()
	batch := &recorded{}
	for number := 0; ; {
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRecord)
			defer cancel()
			if err := r.write(ctx, batch, number); err != nil {
				return err
			}
			return r.write(ctx, r.take(), number+1)
		case <-ticker.C:
		}
		if batch.empty() {
			batch = r.take()
		}
		if err := r.write(ctx, batch, number); err != nil {
			if ctx.Err() == nil {
				r.Logger.Warn("storing evaluations of flags failed", "error", err)
			}
			continue // the same batch again, under the same token
		}
		batch = &recorded{}
		number++
	}
}

// recorded is what one write stores.
type recorded struct {
	counts    []svc.FlagCount
	exposures []svc.FlagExposure
}

func (b *recorded) empty() bool { return len(b.counts) == 0 && len(b.exposures) == 0 }

// take returns what was counted since the last call, with the numbers of the environments.
func (r *Recorder) take() *recorded {
	numbers, keep := map[svc.AppRef]map[string]uint64{}, map[uint64]int{}
	for _, app := range r.Applications() {
		numbers[app.Ref()] = map[string]uint64{}
		for _, environment := range app.Environments {
			numbers[app.Ref()][environment.Slug] = environment.Number
			keep[environment.Number] = app.RetentionDays
		}
	}
	taken, today := &recorded{}, r.Now().UTC().Truncate(24*time.Hour)
	for _, tally := range r.Definitions.Take() {
		if number, known := numbers[tally.App][tally.Environment]; known {
			taken.counts = append(taken.counts, svc.FlagCount{Environment: number, Flag: tally.Flag, Variant: tally.Variant, Day: today, Count: tally.Count})
		}
	}
	r.mu.Lock()
	rows := min(len(r.waiting), batchRows)
	taken.exposures = append(taken.exposures, r.waiting[:rows]...)
	r.waiting = append(r.waiting[:0], r.waiting[rows:]...)
	r.mu.Unlock()
	for n := range taken.exposures {
		one := &taken.exposures[n]
		one.Expires = one.At.UTC().Truncate(24*time.Hour).AddDate(0, 0, keep[one.Environment]+1)
	}
	return taken
}

// write stores one batch.
func (r *Recorder) write(ctx context.Context, batch *recorded, number int) error {
	if len(batch.counts) > 0 {
		if err := r.Store.AppendFlagCounts(ctx, fmt.Sprintf("flags-%s-%d", r.Name, number), batch.counts); err != nil {
			return err
		}
	}
	if len(batch.exposures) > 0 {
		return r.Store.AppendFlagExposures(ctx, fmt.Sprintf("exposures-%s-%d", r.Name, number), batch.exposures)
	}
	return nil
}
