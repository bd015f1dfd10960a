package destinations

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// asked collects the queries of contacts.
type asked struct {
	contacts
	questions []*question
}

func (a *asked) planAt(now time.Time, needed, ahead []visitorKey) []*question {
	return a.plan(now, needed, ahead, func(q *question) { a.questions = append(a.questions, q) })
}

// keysOf returns a number of visitors of an environment, from a number on.
func keysOf(from, count int) (keys []visitorKey) {
	for n := range count {
		keys = append(keys, visitorKey{environment: 1, visitor: uint64(from + n)})
	}
	return keys
}

// TestAQuestionGathersWhoIsAskedAboutMeanwhile makes two attempts ask one after the other. The second joins the query
// of the first until that goes to the store, and visitors that are already in it are not queried again.
func TestAQuestionGathersWhoIsAskedAboutMeanwhile(t *testing.T) {
	t.Parallel()
	var a asked
	now := time.UnixMilli(1.78e12)
	first := a.planAt(now, keysOf(0, 1), keysOf(1, 2))
	second := a.planAt(now.Add(time.Millisecond), keysOf(2, 2), keysOf(0, 10))
	if len(a.questions) != 1 || !slices.Equal(first, a.questions) || !slices.Equal(second, a.questions) {
		t.Fatalf("%d questions were asked for, and the attempts wait for %v and %v", len(a.questions), first, second)
	}
	if got, want := a.gather(t.Context(), a.questions[0]), keysOf(0, 10); !slices.Equal(got, want) {
		t.Errorf("the question is about %v, not %v", got, want)
	}
	third := a.planAt(now.Add(time.Second), keysOf(9, 2), nil)
	if len(a.questions) != 2 || !slices.Equal(third, a.questions) {
		t.Fatalf("after the question was asked %d were asked for, and an attempt that needs its last visitor and another waits for %v", len(a.questions), third)
	}
	if got, want := a.gather(t.Context(), a.questions[1]), keysOf(10, 1); !slices.Equal(got, want) {
		t.Errorf("the next question is about %v, not %v", got, want)
	}
}

// TestAQuestionIsBounded checks the limit of people per query. Needed people beyond it are in the next query, and
// people ahead wait for a later one.
func TestAQuestionIsBounded(t *testing.T) {
	t.Parallel()
	var a asked
	now := time.UnixMilli(1.78e12)
	answers := a.planAt(now, keysOf(0, contactsAtOnce+3), keysOf(2*contactsAtOnce, 3*contactsAtOnce))
	if len(a.questions) != 2 || !slices.Equal(answers, a.questions) {
		t.Fatalf("%d questions were asked for, and the attempt waits for %d", len(a.questions), len(answers))
	}
	want := [][]visitorKey{keysOf(0, contactsAtOnce), slices.Concat(keysOf(contactsAtOnce, 3), keysOf(2*contactsAtOnce, contactsAtOnce-3))}
	for n, q := range a.questions {
		if got := a.gather(t.Context(), q); !slices.Equal(got, want[n]) {
			t.Errorf("question %d is about %d people from %v on, not %d from %v on", n, len(got), got[0], len(want[n]), want[n][0])
		}
	}
}

// TestAnAnswerIsUsedWhileItIsFresh queries one person repeatedly: an answer is used for its time, a failed one is not.
func TestAnAnswerIsUsedWhileItIsFresh(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1.78e12)
	for _, one := range []struct {
		name  string
		err   error
		after time.Duration
		again bool
	}{
		{"at once", nil, 0, false},
		{"just before its end", nil, contactsFresh - 1, false},
		{"at its end", nil, contactsFresh, true},
		{"after a failure", errors.New("the store is away"), 0, true},
	} {
		var a asked
		a.planAt(now, keysOf(0, 1), nil)
		q := a.questions[0]
		a.gather(t.Context(), q)
		q.err = one.err
		close(q.done)
		if a.planAt(now.Add(one.after), keysOf(0, 1), nil); (len(a.questions) == 2) != one.again {
			t.Errorf("%s: %d questions were asked for", one.name, len(a.questions))
		}
	}
}

// TestAQuestionWaitsItsTimeOrUntilItsNodeEnds measures how long a query gathers, in virtual time.
func TestAQuestionWaitsItsTimeOrUntilItsNodeEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended, end := context.WithCancel(t.Context())
		end()
		for ctx, want := range map[context.Context]time.Duration{t.Context(): contactsGather, ended: 0} {
			var a asked
			begun := time.Now()
			a.planAt(begun, keysOf(0, 1), nil)
			a.gather(ctx, a.questions[0])
			if waited := time.Since(begun); waited != want || a.gathering != nil {
				t.Errorf("a question waited %v, not %v, and gathers: %v", waited, want, a.gathering != nil)
			}
		}
	})
}
