package health

import (
	"context"
	"fmt"
	"time"

	"svc/domain/ingest"
)

// lettersTime limits the look-up of the dead letters, because readiness does not wait long for it.
const lettersTime = time.Second

// Letters checks the dead letters: items that were accepted but could not be stored.
type Letters struct {
	Store LetterStore
}

// LetterStore counts dead letters by environment.
type LetterStore interface {
	CountLetters(ctx context.Context) ([]ingest.LetterCount, error)
}

// Waiting returns an error with the number of waiting dead letters, if any. It is a warning: later items do not wait
// for them.
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
