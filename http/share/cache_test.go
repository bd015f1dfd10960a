package share_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain/share"
)

// TestTheCacheComesAfterTheQuestionWhoMayRead reads, disables and reads again.
func TestTheCacheComesAfterTheQuestionWhoMayRead(t *testing.T) {
	settings := everything()
	settings.LegacyLink = true
	w := open(t, settings)
	paths := []string{"/s/" + pageID, "/embed/" + pageID, "/s/" + legacy, "/embed/" + legacy}
	status := func(want int) {
		t.Helper()
		for _, path := range paths {
			if got := w.get(t, path); got.Code != want {
				t.Errorf("%s: %d, want %d", path, got.Code, want)
			}
		}
	}
	status(http.StatusOK)
	w.questions()
	status(http.StatusOK)
	if asked := w.questions(); len(asked) != 0 {
		t.Errorf("the second read asked %q", asked)
	}
	w.disable()
	status(http.StatusNotFound)

	settings.Pages, settings.Revision = false, 1
	w.publish(settings)
	if body := w.get(t, "/s/"+pageID).Body.String(); strings.Contains(body, "/pricing") || strings.Count(body, "Not shared.") != 1 {
		t.Error("the page shows what its owner has turned off")
	}
}

func TestTheCacheIsOneMinuteOld(t *testing.T) {
	w := open(t, everything())
	first := w.get(t, "/s/"+pageID+"?metric=sessions&range=7d").Body.String()
	w.questions()
	w.pass(time.Minute - time.Nanosecond)
	for _, query := range []string{"?range=7d&metric=sessions", "?metric=sessions&range=7d&granularity=day&utm_source=x", "?metric=sessions&range=7d&pages=nonsense"} {
		if got := w.get(t, "/s/"+pageID+query); got.Body.String() != first {
			t.Errorf("%s is another page", query)
		}
	}
	if asked := w.questions(); len(asked) != 0 {
		t.Errorf("within the minute it asked %q", asked)
	}
	w.pass(time.Nanosecond)
	w.get(t, "/s/"+pageID+"?metric=sessions&range=7d")
	if asked := w.questions(); len(asked) != 7 {
		t.Errorf("after the minute it asked %q", asked)
	}
}

// TestAPageThatEndsWhileItIsMadeIsNotSent disables and changes a page while its numbers are being read.
func TestAPageThatEndsWhileItIsMadeIsNotSent(t *testing.T) {
	w := open(t, everything())
	w.during = func(context.Context) { w.disable() }
	if got := w.get(t, "/s/"+pageID); got.Code != http.StatusNotFound || strings.Contains(got.Body.String(), "12.3k") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	w.publish(everything())
	once := sync.OnceFunc(func() { w.publish(share.Share{Revision: 9}) })
	w.during = func(context.Context) { once() }
	if got := w.get(t, "/s/"+pageID+"?range=7d"); got.Code != http.StatusOK || strings.Contains(got.Body.String(), "/pricing") {
		t.Errorf("%d, with pages: %t", got.Code, strings.Contains(got.Body.String(), "/pricing"))
	}
}

func TestAStoreThatFails(t *testing.T) {
	w := open(t, everything())
	w.fail = errAway
	got := w.get(t, "/s/"+pageID)
	if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "5" || strings.Contains(got.Body.String(), "away") {
		t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
	}
	w.fail = nil
	if got := w.get(t, "/s/"+pageID); got.Code != http.StatusOK {
		t.Errorf("the failure was kept: %d", got.Code)
	}
}

// TestANodeThatIsBehindShowsNothing reads from a node that may not know the present pages.
func TestANodeThatIsBehindShowsNothing(t *testing.T) {
	w := open(t, everything())
	for _, behind := range []bool{true, false, true} {
		w.behind = behind
		want := http.StatusOK
		if behind {
			want = http.StatusServiceUnavailable
		}
		if got := w.get(t, "/s/"+pageID); got.Code != want {
			t.Errorf("behind %t: %d", behind, got.Code)
		}
		if got := w.get(t, "/s/"+strings.Repeat("0", len(pageID))); (got.Code == http.StatusNotFound) == behind {
			t.Errorf("behind %t, an unknown page: %d", behind, got.Code)
		}
	}
}

// TestManyReaders lets many readers wait for one store: readers of one page share its rendering, few pages are rendered
// at a time, and too many are refused.
func TestManyReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, everything())
		var mu sync.Mutex
		running, most := 0, 0
		w.during = func(context.Context) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
		}
		codes := make(chan int, 1000)
		var readers sync.WaitGroup
		read := func(path string) { readers.Go(func() { codes <- w.get(t, path).Code }) }
		for range 50 {
			read("/s/" + pageID)
		}
		synctest.Wait()
		for _, span := range []string{"24h", "7d", "90d"} {
			for _, grain := range []string{"hour", "day", "week", "month"} {
				for _, metric := range []string{"visitors", "pageviews", "sessions"} {
					for _, compare := range []string{"0", "1"} {
						read("/s/" + pageID + "?range=" + span + "&granularity=" + grain + "&metric=" + metric + "&compare=" + compare)
					}
				}
			}
		}
		readers.Wait()
		close(codes)
		counted := map[int]int{}
		for code := range codes {
			counted[code]++
		}
		if most != 4 || counted[200] != 50+63 || counted[503] != 72-63 {
			t.Errorf("%d at a time, answers %v", most, counted)
		}
		if asked := slices.DeleteFunc(w.questions(), func(q string) bool { return !strings.HasPrefix(q, "overview 30d") }); len(asked) != 1 {
			t.Errorf("50 readers of one page asked %d times", len(asked))
		}
	})
}
