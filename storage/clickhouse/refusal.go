package clickhouse

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"svc"
)

// Exception codes of ClickHouse that do not concern the rows of an insert: the same rows may be
// accepted later, or after an operator has repaired the cause.
const (
	codeNetworkTimeout       = 209
	codeNetworkError         = 210
	codeTooManyQueries       = 202
	codeQuotaExceeded        = 201
	codeTooManyParts         = 252
	codeNotEnoughSpace       = 243
	codeReadonly             = 164
	codeTableReadonly        = 242
	codeAborted              = 236
	codeCancelled            = 394
	codeQueryWasCancelled    = 735
	codeTooSlow              = 160
	codeDeadlockAvoided      = 473
	codeAccessDenied         = 497
	codeAuthenticationFailed = 516
	codeUnknownTable         = 60
	codeUnknownDatabase      = 81
	codeTableIsDropped       = 218
	codeNoSuchColumn         = 16
	codeUnknownIdentifier    = 47
	codeUnknownSetting       = 115
	codeUnknownFunction      = 46
	codeSyntaxError          = 62
	codeCannotOpenFile       = 76
	codeCannotReadFile       = 74
	codeCannotWriteFile      = 75
	codeFileDoesNotExist     = 107
	codeCannotStat           = 88
	codeErrnoFailed          = 425
	codeChecksumMismatch     = 40
	codeCannotSchedule       = 439
	codeSystemError          = 1001
	codeUnknownException     = 1002
	codeNoKeeper             = 225
	codeTooFewReplicas       = 285
	codeQuorumUnsatisfied    = 286
	codeUnknownInsert        = 319
	codeKeeperException      = 999
)

// manyMonths is in the message of the one exception of codeTooManyParts that the rows cause.
const manyMonths = "single INSERT block"

// Refused reports whether the rows that were sent may have caused an exception. It may report true
// too often: suspected rows are tried before anything is done about them.
func Refused(err error) bool {
	exception, answered := errors.AsType[*clickhouse.Exception](err)
	if !answered {
		return false
	}
	switch exception.Code {
	case codeTooManyParts:
		return strings.Contains(exception.Message, manyMonths)
	case codeTimeoutExceeded, codeMemoryLimitExceeded, codeNetworkTimeout, codeNetworkError, codeTooManyQueries, codeQuotaExceeded,
		codeNotEnoughSpace, codeReadonly, codeTableReadonly, codeAborted, codeCancelled, codeQueryWasCancelled, codeTooSlow, codeDeadlockAvoided,
		codeAccessDenied, codeAuthenticationFailed, codeUnknownTable, codeUnknownDatabase, codeTableIsDropped, codeNoSuchColumn,
		codeUnknownIdentifier, codeUnknownSetting, codeUnknownFunction, codeSyntaxError, codeCannotOpenFile, codeCannotReadFile,
		codeCannotWriteFile, codeFileDoesNotExist, codeCannotStat, codeErrnoFailed, codeChecksumMismatch, codeCannotSchedule,
		codeSystemError, codeUnknownException, codeNoKeeper, codeTooFewReplicas, codeQuorumUnsatisfied, codeUnknownInsert, codeKeeperException:
		return false
	}
	return true
}

// Refusal returns the code and the message of an exception that the rows may have caused.
func Refusal(err error) (reason string, refused bool) {
	if !Refused(err) {
		return "", false
	}
	exception, _ := errors.AsType[*clickhouse.Exception](err) // it is one
	return fmt.Sprintf("code %d: %s", exception.Code, exception.Message), true
}

// InsertError is WriteError for the insert of a block: it returns [svc.ErrRefused] if the rows may
// have caused the failure.
func InsertError(what string, err error) error {
	if Refused(err) {
		return errors.Join(svc.ErrRefused, WriteError(what, err))
	}
	return WriteError(what, err)
}
