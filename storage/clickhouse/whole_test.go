package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadsBeginBesideNoInsert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Conn{link: &link{}}
		u := &c.inserts
		u.begin(1)
		go func() {
			time.Sleep(restTime / 2)
			u.end(1, true)
		}()
		began, reads := time.Now(), 0
		read := func(context.Context) (int, error) {
			if reads++; reads == 1 { // an insert runs in between
				u.begin(2)
				u.end(2, true)
			}
			return reads, nil
		}
		if got, err := Whole(t.Context(), c, read); got != 2 || err != nil || time.Since(began) != restTime/2 {
			t.Errorf("%d reads after %s, %v", got, time.Since(began), err)
		}

		u.begin(3) // this insert never ends
		began, reads = time.Now(), 1
		if got, _ := Whole(t.Context(), c, read); got != 2 || time.Since(began) != restTime {
			t.Errorf("%d reads after %s beside an insert that does not end", got, time.Since(began))
		}
		slow := func(context.Context) (int, error) {
			reads++
			time.Sleep(2 * quickTime)
			u.begin(4)
			u.end(4, true)
			return reads, nil
		}
		reads = 0
		if got, _ := Whole(t.Context(), c, slow); got != 1 {
			t.Errorf("a slow read was done %d times", got)
		}
	})
}

// TestRowsWaitForAnInsert reads rows while an insert runs. If the insert ends soon, the rows include its block, like
// earlier reads of sums from other tables. Otherwise they omit it (F6).
func TestRowsWaitForAnInsert(t *testing.T) {
	for name, one := range map[string]struct {
		takes time.Duration
		want  string
	}{"a short insert": {restTime / 2, "[]"}, "a long insert": {2 * restTime, "[1]"}} {
		synctest.Test(t, func(t *testing.T) {
			c := &Conn{link: &link{}}
			c.inserts.begin(1)
			go func() {
				time.Sleep(one.takes)
				c.inserts.end(1, true)
			}()
			var got string
			err := Besides(t.Context(), c, func(hidden []uint64) error {
				got = fmt.Sprint(hidden)
				return nil
			})
			if got != one.want || err != nil {
				t.Errorf("%s: %s is left out, want %s: %v", name, got, one.want, err)
			}
			time.Sleep(2 * restTime)
		})
	}
}

func TestBlocksThatFailedStayHidden(t *testing.T) {
	u := &blocksUnderWay{}
	hidden := func() string {
		blocks, _ := u.blocks()
		return fmt.Sprint(blocks)
	}
	away := errors.New("the store is away")
	if err := u.insert(7, func() error { return away }); !errors.Is(err, away) || hidden() != "[7]" {
		t.Errorf("%v, hidden %s", err, hidden())
	}
	_ = u.insert(7, func() error { return nil })
	if hidden() != "[]" {
		t.Errorf("a block that was repeated is hidden: %s", hidden())
	}
	_ = u.insert(8, func() error { return away })
	_ = u.insert(9, func() error { return nil })
	if hidden() != "[]" {
		t.Errorf("another generation has gone past the block: %s", hidden())
	}
}
