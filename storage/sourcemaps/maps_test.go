package sourcemaps_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"svc/storage/sourcemaps"
)

// shelf is an in-memory store that counts its reads.
type shelf struct {
	mu    sync.Mutex
	maps  map[string][]byte
	asked int
	// failing means that the store is unavailable.
	failing bool
}

func (s *shelf) SourceMap(_ context.Context, app string, keys []string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.failing {
		return nil, context.DeadlineExceeded
	}
	for _, key := range keys {
		if content := s.maps[app+" "+key]; content != nil {
			return content, nil
		}
	}
	return nil, nil
}

// clock is a manual clock.
type clock struct{ now time.Time }

func opened(t *testing.T, bytes int) (*sourcemaps.Maps, *shelf, *clock) {
	t.Helper()
	content, err := os.ReadFile("testdata/app.js.map")
	if err != nil {
		t.Fatal(err)
	}
	store := &shelf{maps: map[string][]byte{"app_1 debug:a": content, "app_1 debug:b": content, "app_1 debug:noise": []byte("{")}}
	time0 := &clock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	return sourcemaps.New(sourcemaps.Config{Store: store, MaxBytes: bytes, Now: func() time.Time { return time0.now }}), store, time0
}

// The positions come from an error that the built file threw in Node.
func TestResolve(t *testing.T) {
	t.Parallel()
	maps, store, _ := opened(t, 1<<20)
	for name, tc := range map[string]struct {
		app  string
		keys []string
		at   sourcemaps.Place
		want sourcemaps.Place
		err  error
	}{
		"thrown":             {"app_1", []string{"debug:a"}, sourcemaps.Place{Line: 3, Column: 34}, sourcemaps.Place{File: "../src/pay.ts", Function: "chargeCard", Line: 3, Column: 11}, nil},
		"called":             {"app_1", []string{"debug:none", "debug:a"}, sourcemaps.Place{Line: 3, Column: 121}, sourcemaps.Place{File: "../src/pay.ts", Function: "checkout", Line: 9, Column: 38}, nil},
		"of another tenant":  {"app_2", []string{"debug:a"}, sourcemaps.Place{Line: 3, Column: 34}, sourcemaps.Place{}, sourcemaps.ErrNoMap},
		"line is not mapped": {"app_1", []string{"debug:a"}, sourcemaps.Place{Line: 900, Column: 1}, sourcemaps.Place{}, sourcemaps.ErrNotMapped},
		"no line":            {"app_1", []string{"debug:a"}, sourcemaps.Place{}, sourcemaps.Place{}, sourcemaps.ErrNotMapped},
		"no keys":            {"app_1", nil, sourcemaps.Place{Line: 1}, sourcemaps.Place{}, sourcemaps.ErrNotMapped},
	} {
		got, err := maps.Resolve(t.Context(), tc.app, tc.keys, tc.at)
		if !errors.Is(err, tc.err) || got != tc.want {
			t.Errorf("%s: got %+v, %v; want %+v, %v", name, got, err, tc.want, tc.err)
		}
	}
	before := store.asked
	for range 100 {
		if _, err := maps.Resolve(t.Context(), "app_1", []string{"debug:a"}, sourcemaps.Place{Line: 3, Column: 34}); err != nil {
			t.Fatal(err)
		}
	}
	if store.asked != before {
		t.Errorf("the store was asked %d times for what is in memory", store.asked-before)
	}
}

func TestAMapThatComesLateIsFound(t *testing.T) {
	t.Parallel()
	maps, store, clock := opened(t, 1<<20)
	at := sourcemaps.Place{Line: 3, Column: 34}
	find := func() bool {
		_, err := maps.Resolve(t.Context(), "app_1", []string{"debug:late"}, at)
		return err == nil
	}
	if find() {
		t.Fatal("found before it came")
	}
	store.maps["app_1 debug:late"] = store.maps["app_1 debug:a"]
	if asked := store.asked; find() || store.asked != asked {
		t.Error("the store was asked again at once")
	}
	clock.now = clock.now.Add(time.Minute)
	if !find() {
		t.Error("not found after a minute")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	maps, store, _ := opened(t, 1)
	at := sourcemaps.Place{Line: 3, Column: 34}
	for range 3 {
		for _, key := range []string{"debug:a", "debug:b"} {
			if _, err := maps.Resolve(t.Context(), "app_1", []string{key}, at); err != nil {
				t.Errorf("%s is not resolved", key)
			}
		}
	}
	if store.asked != 6 {
		t.Errorf("the store was asked %d times, want 6: one map is kept at a time", store.asked)
	}
}

func TestManyAtOnceShareOneReading(t *testing.T) {
	t.Parallel()
	maps, store, _ := opened(t, 1<<20)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := maps.Resolve(t.Context(), "app_1", []string{"debug:a"}, sourcemaps.Place{Line: 3, Column: 34}); err != nil {
				t.Error("not resolved")
			}
		})
	}
	all.Wait()
	if store.asked != 1 {
		t.Errorf("the store was asked %d times", store.asked)
	}
}
