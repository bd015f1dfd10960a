package actorstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/actors/grain"
	"svc/domain"
)

// Step is one message to a core and its whole expected outcome.
type Step struct {
	Name    string
	After   time.Duration // since Epoch
	Method  string
	Message any
	Want    grain.Outcome[any]
	Err     error
}

// Epoch is the time at which the lives of cores in tests begin.
func Epoch() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// At returns an instant of such a life.
func At(after time.Duration) time.Time { return Epoch().Add(after) }

// Play sends a life's messages to one core in order. If storesAll is set, the core must restore its whole state from
// the store. Then Play repeats the life with cores that are restored from the writes before every message.
func Play[S grain.Core](t *testing.T, kind *grain.Kind[S], newCore func() S, storesAll bool, steps []Step) {
	t.Helper()
	lives := map[string]bool{"kept in memory": false}
	if storesAll {
		lives["restored before every message"] = true
	}
	for life, restored := range lives {
		t.Run(life, func(t *testing.T) {
			stored := map[string]domain.Entity{}
			present := Restored(t, newCore(), stored)
			for n, s := range steps {
				if restored {
					present = Restored(t, newCore(), stored)
				}
				Keep(t, stored, playStep(t, kind, present, n, &s))
			}
		})
	}
}

// playStep sends the message of a step to a core, compares the outcome, and returns its writes.
func playStep[S grain.Core](t *testing.T, kind *grain.Kind[S], core S, n int, s *Step) []grain.Write {
	t.Helper()
	payload, err := json.Marshal(s.Message)
	if err != nil {
		t.Fatal(err)
	}
	got, err := kind.Apply(core, At(s.After), s.Method, payload)
	if a, b := render(got), render(s.Want); a != b {
		t.Errorf("step %d, %s: the outcome of %s is\n%swant\n%s", n, s.Name, s.Method, a, b)
	}
	if !SameError(err, s.Err) {
		t.Errorf("step %d, %s: %s fails with %#v, want %#v", n, s.Name, s.Method, err, s.Err)
	}
	if got.After != nil {
		got.After(domain.Version{})
	}
	return got.Writes
}

// WantEveryMethod checks that each method of a kind succeeds in some step.
func WantEveryMethod[S grain.Core](t *testing.T, kind *grain.Kind[S], steps []Step, except ...string) {
	t.Helper()
	for _, method := range kind.Methods() {
		if !slices.Contains(except, method) && !slices.ContainsFunc(steps, func(s Step) bool { return s.Method == method && s.Err == nil }) {
			t.Errorf("no step has %s succeed", method)
		}
	}
}

// Restored restores a core from stored entities.
func Restored[S grain.Core](t *testing.T, core S, stored map[string]domain.Entity) S {
	t.Helper()
	if err := core.Restore(slices.Collect(maps.Values(stored))); err != nil {
		t.Fatal(err)
	}
	return core
}

// Keep adds writes to stored entities.
func Keep(t *testing.T, stored map[string]domain.Entity, writes []grain.Write) {
	t.Helper()
	for _, w := range writes {
		key := w.Kind + "/" + w.ID
		if w.Value == nil {
			delete(stored, key)
			continue
		}
		payload, err := json.Marshal(w.Value)
		if err != nil {
			t.Fatal(err)
		}
		stored[key] = domain.Entity{Kind: w.Kind, ID: w.ID, Payload: payload}
	}
}

// render writes an outcome, one line per part.
func render(o grain.Outcome[any]) string {
	var b strings.Builder
	encode := func(value any) string {
		encoded, err := json.Marshal(value)
		if err != nil {
			return err.Error()
		}
		return string(encoded)
	}
	fmt.Fprintf(&b, "\tanswer %s\n", encode(o.Answer))
	for _, w := range o.Writes {
		fmt.Fprintf(&b, "\twrite %s/%s %s\n", w.Kind, w.ID, encode(w.Value))
	}
	for _, w := range o.Wakeups {
		fmt.Fprintf(&b, "\twake-up %s\n", encode(w))
	}
	return b.String()
}

// SameError compares product errors completely, others by identity or text.
func SameError(got, want error) bool {
	shown, isShown := errors.AsType[*domain.Error](got)
	wanted, wantShown := errors.AsType[*domain.Error](want)
	if isShown && wantShown {
		return reflect.DeepEqual(shown, wanted)
	}
	return isShown == wantShown && (errors.Is(got, want) || got != nil && want != nil && got.Error() == want.Error())
}

// ErrAway is the error of a store that cannot be reached.
var ErrAway = errors.New("the store is away")

// StoreAway is the answer while the store does not answer.
func StoreAway() error { return domain.Unavailable("The store", time.Second) }

// Through encodes a value as JSON and decodes it.
func Through[T any](t *testing.T, value T) T {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(encoded, &back); err != nil {
		t.Fatal(err)
	}
	return back
}
