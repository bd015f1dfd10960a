package clickhouse

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain"
)

func TestShareRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &Conn{link: &link{}}
		runs, release := map[string]int{}, make(chan struct{})
		ask := func(ctx context.Context, key string) <-chan error {
			answer := make(chan error, 1)
			go func() {
				got, err := Share(ctx, db, key, func(ctx context.Context) (string, error) {
					runs[key]++
					select {
					case <-release:
						return key, nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				})
				if err == nil && got != key {
					err = errors.New("the answer is of " + got)
				}
				answer <- err
			}()
			synctest.Wait()
			return answer
		}
		impatient, leave := context.WithCancel(t.Context())
		first, second, other := ask(impatient, "a"), ask(t.Context(), "a"), ask(t.Context(), "b")
		leave()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller who left got %v", err)
		}
		close(release)
		if err := errors.Join(<-second, <-other); err != nil {
			t.Error(err)
		}
		if runs["a"] != 1 || runs["b"] != 1 {
			t.Errorf("%v: each key must run once", runs)
		}
	})
}

func TestShareEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &Conn{link: &link{}}
		began := time.Now()
		_, err := Share(t.Context(), db, "a", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ReadError("waiting", ctx.Err())
		})
		if domain.CodeOf(err) != domain.CodeQueryTimeout || time.Since(began) != QueryTime {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
