package flags

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"svc/domain"
	"svc/domain/flag"
	"svc/domain/ingest"
	"svc/domain/telemetry"
)

// Kept stores evaluations and exposures.
type Kept interface {
	// AppendFlagCounts and AppendFlagExposures add rows; repeated under the same token they change nothing.
	AppendFlagCounts(ctx context.Context, token string, counts []flag.Count) error
	AppendFlagExposures(ctx context.Context, token string, exposures []flag.Exposure) error
}

// Limits of a recorder.
const (
	// remembered is the number of exposures that a node remembers, so that it does not store them again.
	remembered = 1 << 18
	// waitingExposures bounds the exposures that wait for the store. Exposures beyond it are recorded at a later
	// evaluation.
	waitingExposures = 100_000
	// recordEvery is the pause between two writes to the store; lastRecord bounds the write at the end.
	recordEvery = 5 * time.Second
	lastRecord  = 5 * time.Second
	// batchRows bounds one insert.
	batchRows = 20_000
)

// Recorder counts evaluations and stores exposures. A node that is killed loses the ones of the last seconds. While the
// store is away, they wait in memory.
type Recorder struct {
	Definitions *Definitions
	Store       Kept
	// Applications returns every application of the node.
	Applications func() []domain.Application
	// Policy returns the telemetry policy of an environment.
	Policy func(environment uint64) *telemetry.State
	// Usage counts evaluations as a signal of their environments; it does not wait.
	Usage func(ingest.UsageCounts)
	// Name distinguishes the runs of all nodes.
	Name   string
	Now    func() time.Time
	Logger *slog.Logger

	// seen holds the last recorded exposure at the index of its hash.
	seen [remembered]atomic.Uint64
	// left counts, by environment, the evaluations that the policy has not recorded.
	left sync.Map // the number of an environment → *leftOut

	mu      sync.Mutex
	waiting []flag.Exposure
}

// leftOut counts the evaluations of an environment that are not recorded: for visitors outside the sample, while
// recording is switched off, and for an id that names no person.
type leftOut struct{ sampled, disabled, nameless atomic.Int64 }

// Recording returns the policy for recording the evaluations of an environment.
func (r *Recorder) Recording(environment uint64) telemetry.FlagsPolicy {
	return r.Policy(environment).Policy.Flags
}

// LeaveOut counts evaluations that are not recorded, under their fate. The caller has already counted each as an
// evaluation of its flag.
func (r *Recorder) LeaveOut(environment uint64, fate ingest.Fate, count int64) {
	found, known := r.left.Load(environment)
	if !known {
		found, _ = r.left.LoadOrStore(environment, &leftOut{})
	}
	left := found.(*leftOut)
	switch fate {
	case ingest.FateSampled:
		left.sampled.Add(count)
	case ingest.FateInvalid:
		left.nameless.Add(count)
	default:
		left.disabled.Add(count)
	}
}

// Expose records that a visitor of an environment was served outcomes. It reports whether all relevant ones are
// recorded. It neither waits nor fails.
func (r *Recorder) Expose(environment, visitor uint64, outcomes []*flag.Outcome, now time.Time) (noted bool) {
	who, noting := visitor^environment*0x9E3779B97F4A7C15, false
	for _, outcome := range outcomes {
		if !outcome.Exposed() {
			continue
		}
		sum := who ^ outcome.Number()*0xC2B2AE3D27D4EB4F
		sum ^= sum >> 29
		place := &r.seen[sum%remembered]
		if place.Load() == sum {
			continue
		}
		if !noting {
			noting = true
			r.mu.Lock()
			defer r.mu.Unlock()
		}
		if len(r.waiting) >= waitingExposures {
			return false
		}
		place.Store(sum)
		r.waiting = append(r.waiting, flag.Exposure{Environment: environment, Flag: outcome.Flag().Key, Variant: outcome.Variant(), Visitor: visitor, At: now})
	}
	return true
}

// Run stores the counts until ctx ends, and then the rest.
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

// recorded holds the counts and exposures of one write.
type recorded struct {
	counts    []flag.Count
	exposures []flag.Exposure
}

func (b *recorded) empty() bool { return len(b.counts) == 0 && len(b.exposures) == 0 }

// take returns the counts since the last call, with the numbers of the environments.
func (r *Recorder) take() *recorded {
	numbers, keep := map[domain.AppRef]map[string]uint64{}, map[uint64]int{}
	for _, app := range r.Applications() {
		numbers[app.Ref()] = map[string]uint64{}
		for _, environment := range app.Environments {
			numbers[app.Ref()][environment.Slug] = environment.Number
			keep[environment.Number] = app.RetentionDays
		}
	}
	now := r.Now().UTC()
	usage := r.takeLeft(now)
	taken, today := &recorded{}, now.Truncate(24*time.Hour)
	for _, tally := range r.Definitions.Take() {
		if number, known := numbers[tally.App][tally.Environment]; known {
			usage = append(usage, evaluations(number, ingest.FateStored, int64(tally.Count), now))
			taken.counts = append(taken.counts, flag.Count{Environment: number, Flag: tally.Flag, Variant: tally.Variant, Day: today, Count: tally.Count})
		}
	}
	if len(usage) > 0 {
		r.Usage(usage)
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

// evaluations returns a count of evaluations with a fate.
func evaluations(environment uint64, fate ingest.Fate, number int64, now time.Time) ingest.UsageCount {
	key := ingest.UsageKey{Environment: environment, Day: ingest.DayOf(now.UnixMilli()), Signal: ingest.SignalFlags, Fate: fate}
	return ingest.UsageCount{UsageKey: key, Items: number, Last: now.UnixMilli()}
}

// takeLeft returns the evaluations that were left out since the last call. It is called before the counts of flags are
// taken, which already contain each of these evaluations. So the recorded evaluations are the counts of flags minus
// takeLeft.
func (r *Recorder) takeLeft(now time.Time) (usage ingest.UsageCounts) {
	r.left.Range(func(environment, counts any) bool {
		left := counts.(*leftOut)
		for fate, count := range map[ingest.Fate]*atomic.Int64{ingest.FateSampled: &left.sampled, ingest.FateDisabled: &left.disabled, ingest.FateInvalid: &left.nameless} {
			number := count.Swap(0)
			if number == 0 {
				continue
			}
			one := evaluations(environment.(uint64), fate, number, now)
			if fate == ingest.FateInvalid {
				one.Code = domain.CodePlaceholderID
			}
			usage = append(usage, one, evaluations(environment.(uint64), ingest.FateStored, -number, now))
		}
		return true
	})
	return usage
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
