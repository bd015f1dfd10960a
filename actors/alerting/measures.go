package alerting

import (
	"context"
	"time"

	"svc/domain/alert"
)

// Volumes counts the rows of rules in the store.
type Volumes interface {
	// AlertVolumes counts for counters of events, or of errors, that differ only in their words. It returns the counts
	// by word, and the blocks that contribute to them, from a number on.
	AlertVolumes(ctx context.Context, counter alert.Counter, words []string, at time.Time, since uint64) (map[string]alert.Window, error)
	// AlertPoints does the same for counters of metrics.
	AlertPoints(ctx context.Context, counter alert.Counter, words []string, at time.Time, since uint64) (map[string]alert.Window, error)
	// ErrorVolumes counts the errors of an environment in a window by level.
	ErrorVolumes(ctx context.Context, environment uint64, from, to time.Time) (map[string]uint64, error)
	// SessionVolume counts the sessions of an environment in a window, bots excluded.
	SessionVolume(ctx context.Context, environment uint64, from, to time.Time) (uint64, error)
}

// StoredMeasures implements Measures with the store. It uses one query for all rules that the query can answer.
type StoredMeasures struct{ Store Volumes }

// Read returns the counts of counters within their windows. One query answers counters that differ only in their words,
// unless they ask for labels.
func (m StoredMeasures) Read(ctx context.Context, counters []alert.Counter, at time.Time, since uint64) []ReadCounter {
	out := make([]ReadCounter, len(counters))
	together := map[alert.Counter][]int{}
	for i, counter := range counters {
		if counter.Labels == "" {
			counter.Word = ""
		}
		together[counter] = append(together[counter], i)
	}
	for counter, places := range together {
		words := make([]string, len(places))
		for n, i := range places {
			words[n] = counters[i].Word
		}
		read := m.Store.AlertVolumes
		if counter.Kind == alert.Metric {
			read = m.Store.AlertPoints
		}
		found, err := read(ctx, counter, words, at, since)
		for _, i := range places {
			window := found[counters[i].Word]
			out[i] = ReadCounter{Slots: window.Slots, Blocks: window.Blocks, Err: err}
		}
	}
	return out
}

// sameWindow is the key of rules that one query answers.
type sameWindow struct {
	environment uint64
	window      time.Duration
}

// Measure divides the errors of rules by sessions, in the windows that end at an instant (contract 62). A
// window without sessions has no value.
func (m StoredMeasures) Measure(ctx context.Context, rules []alert.Rule, at time.Time) []Measured {
	out := make([]Measured, len(rules))
	together := map[sameWindow][]int{}
	for i := range rules {
		key := sameWindow{rules[i].Number, rules[i].Window()}
		together[key] = append(together[key], i)
	}
	for key, places := range together {
		volumes, err := m.Store.ErrorVolumes(ctx, key.environment, at.Add(-key.window), at)
		var all, sessions uint64
		for _, n := range volumes {
			all += n
		}
		if err == nil {
			volumes[""] = all
			sessions, err = m.Store.SessionVolume(ctx, key.environment, at.Add(-key.window), at)
		}
		for _, i := range places {
			switch {
			case err != nil:
				out[i].Err = err
			case sessions > 0:
				out[i] = Measured{Value: float64(volumes[rules[i].Condition.Level]) / float64(sessions), Known: true}
			}
		}
	}
	return out
}
