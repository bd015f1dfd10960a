package grain_test

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
)

// words is a core for tests of the shell: a list of words in order of arrival.
type words struct {
	list    []string
	applied *[]string
}

func (w *words) Restore(entities []domain.Entity) error {
	w.list = nil
	for _, entity := range entities {
		list, err := grain.Decode[[]string](entity)
		if err != nil {
			return err
		}
		w.list = append(w.list, list...)
	}
	return nil
}

// Admit records every message that is applied.
func (w *words) Admit(_ time.Time, method string) error {
	*w.applied = append(*w.applied, method)
	return nil
}

func (w *words) onGet(time.Time, grain.None) (grain.Outcome[[]string], error) {
	return grain.Answer(w.list), nil
}

func (w *words) onAdd(_ time.Time, word string) (grain.Outcome[[]string], error) {
	w.list = append(w.list, word)
	return grain.Answer(w.list, grain.Put("list", "list", w.list)), nil
}

func (w *words) onClear(time.Time, grain.None) (grain.Outcome[[]string], error) {
	w.list = nil
	return grain.Answer[[]string](nil, grain.Delete("list", "list")), nil
}

func (w *words) onRefuse(time.Time, grain.None) (grain.Outcome[[]string], error) {
	return grain.Outcome[[]string]{}, domain.NotFound("word")
}

func (w *words) onPanic(_ time.Time, word string) (grain.Outcome[[]string], error) {
	w.list = append(w.list, word)
	panic("a bug")
}

func (w *words) onPanicAfter(_ time.Time, word string) (grain.Outcome[[]string], error) {
	w.list = append(w.list, word)
	result := grain.Answer[[]string](nil, grain.Put("list", "list", w.list))
	result.After = func(domain.Version) { panic("a bug") }
	return result, nil
}

func (w *words) onNotJSON(_ time.Time, word string) (grain.Outcome[[]string], error) {
	w.list = append(w.list, word)
	return grain.Answer[[]string](nil, grain.Put("list", "list", func() {})), nil
}

// wordsKind is the kind of words.
func wordsKind() *grain.Kind[*words] {
	kind := grain.NewKind[*words]("words", 1, wordsIdle)
	grain.On(kind, "get", (*words).onGet)
	grain.On(kind, "add", (*words).onAdd)
	grain.On(kind, "clear", (*words).onClear)
	grain.On(kind, "refuse", (*words).onRefuse)
	grain.On(kind, "panic", (*words).onPanic)
	grain.On(kind, "panic after", (*words).onPanicAfter)
	grain.On(kind, "not JSON", (*words).onNotJSON)
	return kind
}

// ask calls a method of the words actor by its name.
func ask(ctx context.Context, to grain.Caller, method string, message any) ([]string, error) {
	return grain.Declare[any, []string]("words", method).Ask(ctx, to, "a", message)
}

// grainHost is a host of one kind of words.
type grainHost struct {
	*actorstest.Host
	t       *testing.T
	store   *actorstest.Store
	applied []string
}

const wordsIdle = 30 * time.Second

func newGrainHost(t *testing.T) *grainHost {
	h := &grainHost{t: t, store: actorstest.NewStore()}
	node := &grain.Node{Store: h.store, Workers: grain.NewWorkers(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	h.Host = actorstest.NewHost(t, wordsKind().Row(node, func(string) *words { return &words{applied: &h.applied} }))
	return h
}

// pending is a request under way.
type pending struct {
	done   chan struct{}
	answer []string
	err    error
}

// ask sends a request and lets it run as far as it can.
func (h *grainHost) ask(method string, message any) *pending {
	p := &pending{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.answer, p.err = ask(context.Background(), h, method, message)
	}()
	synctest.Wait()
	return p
}

// want checks the answer to a request.
func (h *grainHost) want(p *pending, answer []string, err error) {
	h.t.Helper()
	<-p.done
	if !slices.Equal(p.answer, answer) || !actorstest.SameError(p.err, err) {
		h.t.Errorf("the answer is %v, %v; want %v, %v", p.answer, p.err, answer, err)
	}
}

func (h *grainHost) wantPending(what string, p *pending) {
	h.t.Helper()
	synctest.Wait()
	select {
	case <-p.done:
		h.t.Errorf("%s was answered with %v, %v; want no answer yet", what, p.answer, p.err)
	default:
	}
}

// wantList checks the current list.
func (h *grainHost) wantList(list ...string) {
	h.t.Helper()
	h.want(h.ask("get", grain.None{}), list, nil)
}

// inBubble runs a test of the shell under virtual time.
func inBubble(t *testing.T, test func(t *testing.T, h *grainHost)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newGrainHost(t)) })
}

func TestAGrainLoadsOnceAndKeepsTheOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, h *grainHost) {
		release := h.store.HoldLoads()
		var adds []*pending
		var want []string
		for n := range 20 {
			want = append(want, fmt.Sprint(n))
			adds = append(adds, h.ask("add", fmt.Sprint(n)))
		}
		for n, add := range adds {
			h.wantPending(fmt.Sprintf("add %d", n), add)
		}
		if len(h.applied) != 0 {
			t.Errorf("%v was applied before the state was there", h.applied)
		}
		release()
		for n, add := range adds {
			h.want(add, want[:n+1], nil)
		}
		h.wantList(want...)
		if got := h.store.Loads(); got != 1 {
			t.Errorf("the state was loaded %d times, want 1", got)
		}
	})
}

func TestAnAnswerWaitsForTheWrite(t *testing.T) {
	inBubble(t, func(t *testing.T, h *grainHost) {
		h.wantList()
		release := h.store.HoldPuts()
		add, get, refuse := h.ask("add", "x"), h.ask("get", grain.None{}), h.ask("refuse", grain.None{})
		time.Sleep(grain.IOTime / 2)
		h.wantPending("the write", add)
		h.wantPending("the read behind it", get)
		h.wantPending("the refusal behind it", refuse)
		release()
		h.want(add, []string{"x"}, nil)
		h.want(get, []string{"x"}, nil)
		h.want(refuse, nil, domain.NotFound("word"))
		want := []actorstest.Put{{Entities: []domain.Entity{
			{Owner: "words/a", Kind: "list", ID: "list", Version: domain.Version{Generation: 1, Sequence: 1}, Payload: []byte(`["x"]`)},
		}}}
		if got := h.store.Puts(); !reflect.DeepEqual(got, want) {
			t.Errorf("stored %+v, want %+v", got, want)
		}
	})
}

func TestAStoreThatHangsIsGivenUp(t *testing.T) {
	inBubble(t, func(_ *testing.T, h *grainHost) {
		h.wantList()
		release := h.store.HoldPuts()
		add := h.ask("add", "x")
		time.Sleep(grain.IOTime - time.Millisecond)
		h.wantPending("the write", add)
		// The caller's own ten seconds end at the same instant as the store's.
		if <-add.done; add.err == nil {
			h.t.Errorf("the write got %v, %v; want an error", add.answer, add.err)
		}
		time.Sleep(time.Millisecond) // until the store has given up as well
		synctest.Wait()
		release()
		h.wantList()
	})
}

func TestWhatNobodyWaitsForIsNotBegun(t *testing.T) {
	inBubble(t, func(_ *testing.T, h *grainHost) {
		release := h.store.HoldLoads()
		leaving, leave := context.WithCancel(context.Background())
		left := make(chan error, 1)
		go func() {
			_, err := ask(leaving, h, "add", "x")
			left <- err
		}()
		synctest.Wait()
		stays := h.ask("add", "y")
		leave()
		if err := <-left; err == nil {
			t.Error("the caller that left got an answer")
		}
		release()
		h.want(stays, []string{"y"}, nil)
		if got := len(h.store.Puts()); got != 1 {
			t.Errorf("%d changes were stored, want 1", got)
		}
	})
}

func TestAFailedSaveLeavesNoTrace(t *testing.T) {
	tests := map[string]struct {
		fail func(*actorstest.Store)
		want []string
	}{
		"that stored nothing":           {func(s *actorstest.Store) { s.FailPuts(1, actorstest.ErrAway) }, []string{"x"}},
		"that stored what it was given": {func(s *actorstest.Store) { s.LosePuts(1, actorstest.ErrAway) }, []string{"x", "phantom"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *grainHost) {
				h.want(h.ask("add", "x"), []string{"x"}, nil)
				test.fail(h.store)
				release := h.store.HoldPuts()
				add, behind := h.ask("add", "phantom"), h.ask("get", grain.None{})
				release()
				h.want(add, nil, actorstest.StoreAway())
				h.want(behind, test.want, nil)
				h.want(h.ask("add", "y"), append(slices.Clone(test.want), "y"), nil)
				h.EvictAll()
				h.wantList(append(slices.Clone(test.want), "y")...)
				if got := h.store.Loads(); got != 3 {
					t.Errorf("the state was loaded %d times, want 3", got)
				}
			})
		})
	}
}

func TestAFailedLoadIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, h *grainHost) {
		h.store.FailLoads(1, actorstest.ErrAway)
		release := h.store.HoldLoads()
		first, second := h.ask("get", grain.None{}), h.ask("add", "x")
		release()
		h.want(first, nil, actorstest.StoreAway())
		h.want(second, nil, actorstest.StoreAway())
		h.wantList()
		if got := h.store.Loads(); got != 2 {
			t.Errorf("the state was loaded %d times, want 2", got)
		}
		if len(h.store.Puts()) != 0 {
			t.Errorf("stored %v, want nothing", h.store.Puts())
		}
	})
}

func TestAnUnreadableStateIsNeverOverwritten(t *testing.T) {
	inBubble(t, func(t *testing.T, h *grainHost) {
		broken := domain.Entity{Owner: "words/a", Kind: "list", ID: "list", Version: domain.Version{Generation: 1, Sequence: 1}, Payload: []byte(`{`)}
		if err := h.store.Put(t.Context(), []domain.Entity{broken}, nil, domain.Trail{}); err != nil {
			t.Fatal(err)
		}
		h.want(h.ask("add", "x"), nil, actorstest.StoreAway())
		h.want(h.ask("add", "x"), nil, actorstest.StoreAway())
		if got := len(h.store.Puts()); got != 1 {
			t.Errorf("%d puts, want only the broken one", got)
		}
	})
}

// TestVersionsRise stores every write under a higher version than any before. This includes writes after a deletion,
// and writes after the count of generations began again.
func TestVersionsRise(t *testing.T) {
	inBubble(t, func(t *testing.T, h *grainHost) {
		h.want(h.ask("add", "a"), []string{"a"}, nil)
		h.want(h.ask("add", "b"), []string{"a", "b"}, nil)
		h.Placement.Own(5)
		h.want(h.ask("add", "c"), []string{"a", "b", "c"}, nil)
		h.EvictAll()
		h.want(h.ask("add", "d"), []string{"a", "b", "c", "d"}, nil)
		h.want(h.ask("clear", grain.None{}), nil, nil)
		h.EvictAll()
		h.want(h.ask("add", "e"), []string{"e"}, nil)
		h.EvictAll()
		h.Placement.Own(2)
		h.wantList("e")
		h.want(h.ask("add", "f"), []string{"e", "f"}, nil)
		h.EvictAll()
		h.wantList("e", "f")
		var got []domain.Version
		for _, put := range h.store.Puts() {
			got = append(got, put.Entities[0].Version)
		}
		want := []domain.Version{
			{Generation: 1, Sequence: 1},
			{Generation: 1, Sequence: 2},
			{Generation: 5, Sequence: 3},
			{Generation: 5, Sequence: 4},
			{Generation: 5, Sequence: 5},
			{Generation: 5, Sequence: 6},
			{Generation: 5, Sequence: 7},
		}
		if !slices.Equal(got, want) {
			t.Errorf("the versions are %v, want %v", got, want)
		}
	})
}

func TestAnUnknownMethodIsAnsweredAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *grainHost) {
		began := time.Now()
		h.want(h.ask("nonsense", grain.None{}), nil, domain.Errorf(domain.CodeInternal, `unknown method "nonsense"`))
		h.want(h.ask("add", 7), nil, domain.Errorf(domain.CodeInternal,
			"decoding a message: json: cannot unmarshal number into Go value of type string"))
		if took := time.Since(began); took != 0 {
			t.Errorf("the answers took %s, want none", took)
		}
	})
}

func TestAStopWaitsForTheSave(t *testing.T) {
	inBubble(t, func(t *testing.T, h *grainHost) {
		h.wantList()
		release := h.store.HoldPuts()
		add, queued := h.ask("add", "x"), h.ask("get", grain.None{})
		h.EvictAll()
		later := h.ask("add", "y")
		time.Sleep(time.Second)
		h.wantPending("the write", add)
		h.wantPending("the request behind it", queued)
		h.wantPending("the request behind the stop", later)
		if got := h.Resident("words"); got != 1 {
			t.Errorf("%d activations are in memory, want 1", got)
		}
		release()
		h.want(add, []string{"x"}, nil)
		h.want(later, []string{"x", "y"}, nil)
		if <-queued.done; queued.err != nil {
			t.Errorf("the request behind the save got %v", queued.err)
		}
		h.wantList("x", "y")
		if got := h.store.Loads(); got != 2 {
			t.Errorf("the state was loaded %d times, want 2", got)
		}
	})
}

func TestAStopReportsAFailedSave(t *testing.T) {
	inBubble(t, func(_ *testing.T, h *grainHost) {
		h.wantList()
		h.store.FailPuts(1, actorstest.ErrAway)
		release := h.store.HoldPuts()
		add := h.ask("add", "x")
		h.EvictAll()
		release()
		h.want(add, nil, actorstest.StoreAway())
		h.wantList()
	})
}

func TestAGrainStopsOnlyWhenIdle(t *testing.T) {
	inBubble(t, func(t *testing.T, h *grainHost) {
		passivate := func(want int, why string) {
			t.Helper()
			if err := h.Tell("words", "a", &cluster.Passivate{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := h.Resident("words"); got != want {
				t.Errorf("%s: %d activations, want %d", why, got, want)
			}
		}
		h.wantList()
		time.Sleep(wordsIdle - time.Nanosecond)
		passivate(1, "asked too early")
		release := h.store.HoldPuts()
		add := h.ask("add", "x")
		time.Sleep(grain.IOTime - time.Second)
		passivate(1, "while saving")
		release()
		h.want(add, []string{"x"}, nil)
		time.Sleep(wordsIdle)
		passivate(0, "idle")
		loading := h.store.HoldLoads()
		get := h.ask("get", grain.None{})
		passivate(1, "while loading")
		loading()
		h.want(get, []string{"x"}, nil)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if got := h.Resident("words"); got != 0 {
			t.Errorf("%d activations after three idle minutes, want 0", got)
		}
		h.wantList("x")
	})
}

func TestAPanicDropsTheStateAndIsNotRepeated(t *testing.T) {
	panicked := fmt.Errorf("asking words: %w", cluster.ErrPanicked)
	tests := map[string]struct {
		method string
		list   []string
		err    error
	}{
		"while applying":                 {"panic", []string{"x"}, panicked},
		"after the write":                {"panic after", []string{"x", "bad"}, panicked},
		"a value that cannot be encoded": {"not JSON", []string{"x"}, domain.Errorf(domain.CodeInternal, "encoding list list: json: unsupported type: func()")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *grainHost) {
				h.want(h.ask("add", "x"), []string{"x"}, nil)
				h.EvictAll()
				synctest.Wait()
				began := time.Now()
				release := h.store.HoldLoads() // so that it panics while it handles a load
				bad := h.ask(test.method, "bad")
				behind := h.ask("get", grain.None{})
				release()
				h.want(bad, nil, test.err)
				if took := time.Since(began); took != 0 {
					t.Errorf("the answer took %s, want none", took)
				}
				h.want(behind, test.list, nil)
				if got := count(h.applied, test.method); got != 1 {
					t.Errorf("the request was applied %d times, want 1", got)
				}
			})
		})
	}
}

func count(list []string, word string) (n int) {
	for _, other := range list {
		if other == word {
			n++
		}
	}
	return n
}

// TestNoWriteIsLostWhileGrainsStop adds words concurrently while their grains are stopped and the store fails. All
// words that were answered are stored. Other words are stored only if their call failed.
func TestNoWriteIsLostWhileGrainsStop(t *testing.T) {
	inBubble(t, func(t *testing.T, h *grainHost) {
		const callers, adds = 16, 50
		var mu sync.Mutex
		answered, failed := map[string]bool{}, map[string]bool{}
		var done sync.WaitGroup
		for caller := range callers {
			done.Go(func() {
				for n := range adds {
					word := fmt.Sprintf("%d-%d", caller, n)
					_, err := ask(t.Context(), h, "add", word)
					mu.Lock()
					if err == nil {
						answered[word] = true
					} else {
						failed[word] = true
					}
					mu.Unlock()
					switch n % 10 {
					case 3:
						h.EvictAll()
					case 6:
						h.store.FailPuts(1, actorstest.ErrAway)
					case 9:
						h.store.LosePuts(1, actorstest.ErrAway)
					}
				}
			})
		}
		done.Wait()
		list, err := ask(t.Context(), h, "get", grain.None{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, word := range list {
			if seen[word] || !answered[word] && !failed[word] {
				t.Errorf("%q is in the list twice or without reason", word)
			}
			seen[word] = true
		}
		for word := range answered {
			if !seen[word] {
				t.Errorf("%q was answered and is lost", word)
			}
		}
		if len(answered)+len(failed) != callers*adds || len(failed) == 0 || len(answered) < callers*adds/2 {
			t.Errorf("%d adds were answered and %d failed", len(answered), len(failed))
		}
	})
}

// TestAMethodIsDeclaredOnce declares a second method of a name.
func TestAMethodIsDeclaredOnce(t *testing.T) {
	t.Parallel()
	kind := wordsKind()
	defer func() {
		if cause, want := recover(), `the method "add" of words is declared twice`; cause != want {
			t.Errorf("the second declaration ends with %v, want %s", cause, want)
		}
	}()
	grain.On(kind, "add", (*words).onAdd)
}
