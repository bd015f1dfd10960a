package assistant

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/conversation"
)

// note is an end of a turn that the answer mentions and that is not an error.
type note string

func (n note) Error() string { return string(n) }

// The notes.
const (
	noteRounds   note = "The answer ends here: the limit of 16 tool rounds is reached."
	noteTime     note = "The answer ends here: the limit of 120 seconds is reached."
	noteStuck    note = "The answer ends here: the same call was about to be repeated without end."
	noteBudget   note = "The organization's monthly token budget for the assistant is used up; no model was asked."
	noteLeft     note = "The answer was given up: nobody was there to read it."
	noteStopping note = "The answer was cut off: the service is restarting. Nothing is half done; ask again."
	noteFiltered note = "The answer ends here: the model's provider held the rest of it back."
	noteFull     note = "The answer ends here: it is as long as one answer may be."
	noteNothing  note = "The model gave no answer."
	noteAlone    note = "The action is done. No model is configured to comment on it."
)

// askAgain is the time after which a member may ask again if a dependency did not answer in time.
const askAgain = 5 * time.Second

// ending returns how the answer reports the end of a turn: as a note or as an error.
func ending(cause error) (told note, failure *domain.Error) {
	known, isKnown := errors.AsType[*domain.Error](cause)
	_, hasNoClaim := errors.AsType[errUnclaimed](cause)
	switch {
	case cause == nil:
		return "", nil
	case errors.Is(cause, errTime):
		return noteTime, nil
	case errors.Is(cause, errLeft):
		return noteLeft, nil
	case errors.Is(cause, errStopping):
		return noteStopping, nil
	case errors.As(cause, &told):
		return told, nil
	case errors.Is(cause, errOver):
		return "", domain.Errorf(domain.CodeConflict, "The conversation has ended the turn, of which it had not heard for too long.")
	case hasNoClaim:
		return "", cmp.Or(known, domain.Errorf(domain.CodeUnavailable, "The question could not be stored; ask again."))
	case errors.Is(cause, errRevoked):
		return "", domain.Errorf(domain.CodeNotFound, "The member may not use the assistant of this application any more.")
	case isKnown && slices.Contains([]domain.Code{conversation.CodeProviderError, conversation.CodeProviderUnavailable, domain.CodeRateLimited, domain.CodeUnavailable}, known.Code):
		return "", known
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(cause, context.Canceled), isKnown && known.Code == domain.CodeQueryTimeout:
		return "", domain.Unavailable("What the answer needs", askAgain)
	}
	return "", domain.Errorf(domain.CodeInternal, "Something failed here; the turn is over.")
}
