package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"svc/domain"
	"svc/storage/groupcommit"
)

// Exception codes of ClickHouse.
const (
	codeTimeoutExceeded     = 159
	codeMemoryLimitExceeded = 241
)

// storeRetry is the retry delay for a caller while the store does not answer.
const storeRetry = 5 * time.Second

// unavailableError is domain.CodeUnavailable for callers, with the cause for the log.
type unavailableError struct {
	shown error
	cause error
}

func (e *unavailableError) Error() string   { return e.shown.Error() + " " + e.cause.Error() }
func (e *unavailableError) Unwrap() []error { return []error{e.shown, e.cause} }

// unavailable converts an error into one that says that the store does not answer, or has no space. Other exceptions of
// the store, and cancellations by the caller, stay unchanged.
func unavailable(err error) error {
	exception, answered := errors.AsType[*clickhouse.Exception](err)
	if answered && exception.Code != codeNotEnoughSpace || errors.Is(err, context.Canceled) {
		return err
	}
	return &unavailableError{shown: domain.Unavailable("The store", storeRetry), cause: err}
}

// ReadError converts the error of a read. what describes the read, as a gerund with its object.
func ReadError(what string, err error) error {
	if err == nil {
		return nil
	}
	exception, answered := errors.AsType[*clickhouse.Exception](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded),
		answered && (exception.Code == codeTimeoutExceeded || exception.Code == codeMemoryLimitExceeded):
		return domain.Errorf(domain.CodeQueryTimeout, "The query took too long or too much memory; narrow the range or drop a filter.")
	case answered, errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, unavailable(err))
}

// WriteError converts the error of a write.
func WriteError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, unavailable(err))
}

// SharedError returns the error of a write or read that callers shared. If the caller's time ended first, the error
// says that the store does not answer.
func SharedError(err error) error {
	if errors.Is(err, groupcommit.ErrAbandoned) {
		return unavailable(err)
	}
	return err
}

// Exception codes of a read that met damaged data.
const (
	codeDamagedSize   = 228
	codeDamagedData   = 246
	codeNotCompressed = 271
)

// reportDamage calls the hook of the configuration if a read met damaged data.
func (l *link) reportDamage(err error) {
	exception, answered := errors.AsType[*clickhouse.Exception](err)
	if !answered || l.config.Damaged == nil {
		return
	}
	switch exception.Code {
	case codeChecksumMismatch, codeDamagedSize, codeDamagedData, codeNotCompressed:
		l.config.Damaged(err)
	}
}
