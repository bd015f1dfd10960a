package health

import (
	"context"
	"fmt"
	"time"

	"svc"
)

// lettersTime bounds the look at the dead letters, for which readiness does not wait long.
const lettersTime = time.Second

// Letters looks at the dead letters: what was accepted and could not be stored.
type Letters struct {
	Store LetterStore
}

// LetterStore counts dead letters by environment.
type LetterStore interface {
	CountLetters(ctx context.Context) ([]svc.LetterCount, error)
}

// Waiting fails while dead letters wait, with their number. It is a warning: nothing that was
// accepted after them waits for them.
func (l Letters) Waiting(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lettersTime)
	defer cancel()
	counts, err := l.Store.CountLetters(ctx)
	if err != nil {
		return fmt.Errorf("it is not known how many items could not be stored: %w", err)
	}
	var letters uint64
	environments := map[uint64]bool{}
	for _, count := range counts {
		letters += count.Letters
		environments[count.Environment] = true
	}
	if letters == 0 {
		return nil
	}
	return fmt.Errorf("%d items of %d environments could not be stored; see svc admin deadletters list", letters, len(environments))
}
