package admission

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
)

// TestRoomsGoRoundApplications admits one application's request between any two of another that floods the pool. It
// also reserves its share for it, and refuses after a time.
func TestRoomsGoRoundApplications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPool(100, 50, 1)
		order := make(chan string, 20)
		enter := func(app string, bytes int64, place bool) {
			go func() {
				if err := r.acquire(context.Background(), app, &claim{bytes: bytes, place: place}); err != nil {
					order <- "refused " + app
					return
				}
				order <- app
			}()
			synctest.Wait()
		}
		for range 4 {
			enter("flood", 10, true)
		}
		enter("calm", 10, true)
		enter("third", 10, true)
		var got []string
		for range 6 {
			app := <-order
			got = append(got, app)
			r.release(app, 10, true)
			synctest.Wait()
		}
		if want := "[flood flood calm third flood flood]"; fmt.Sprint(got) != want {
			t.Errorf("the order was %v, want %s", got, want)
		}
		enter("flood", 40, false)
		enter("flood", 20, false) // This exceeds its share.
		enter("calm", 50, false)
		if first, second := <-order, <-order; first != "flood" || second != "calm" {
			t.Errorf("%s, %s", first, second)
		}
		if refused := <-order; refused != "refused flood" {
			t.Errorf("%s", refused)
		}
		r.release("flood", 40, false)
		r.release("calm", 50, false)
		enter("flood", 90, false) // Alone it may exceed its share.
		if first := <-order; first != "flood" {
			t.Error(first)
		}
		r.release("flood", 90, false)
		if r.held != 0 || r.taken != 0 || len(r.apps) != 0 || len(r.queue) != 0 {
			t.Errorf("left behind: %+v", r)
		}
	})
}
