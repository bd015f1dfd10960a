package clickhouse

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"svc/domain/ingest"
)

// ClickHouse exception codes that do not concern the rows of an insert: the same rows may be accepted later, or after
// an operator has repaired the cause.
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
	codeCannotSchedule       = 439
	codeSystemError          = 1001
	codeUnknownException     = 1002
	codeNoKeeper             = 225
	codeTooFewReplicas       = 285
	codeQuorumUnsatisfied    = 286
	codeUnknownInsert        = 319
	codeKeeperException      = 999
)

// ClickHouse exception codes about files and folders.
const (
	codeChecksumMismatch      = 40
	codeCannotReadFile        = 74
	codeCannotWriteFile       = 75
	codeCannotOpenFile        = 76
	codeCannotCloseFile       = 77
	codeDirectoryDoesNotExist = 83
	codeCannotSeek            = 87
	codeCannotTruncateFile    = 88
	codeFileDoesNotExist      = 107
	codeCannotCreateDirectory = 172
	codeCannotForce           = 204
	codeCannotStatVolume      = 214
	codeCannotWriteToFile     = 294
	codeCannotLink            = 424
	codeErrnoFailed           = 425
	codeCannotUnlink          = 458
	codeFileAlreadyExists     = 504
	codeCannotStat            = 531
	codeCannotCreateFile      = 586
	codeCannotAppend          = 641
)

// diskCodes lists the exception codes of a failing disk: a file or folder of the store could not be read, written,
// synced or renamed. The rows of an insert do not cause them.
func diskCodes() []int32 {
	return []int32{
		codeCannotReadFile, codeCannotWriteFile, codeCannotOpenFile, codeCannotCloseFile, codeDirectoryDoesNotExist, codeCannotSeek,
		codeCannotTruncateFile, codeFileDoesNotExist, codeCannotCreateDirectory, codeCannotForce, codeCannotStatVolume, codeCannotWriteToFile,
		codeCannotLink, codeErrnoFailed, codeCannotUnlink, codeFileAlreadyExists, codeCannotStat, codeCannotCreateFile, codeCannotAppend, codeChecksumMismatch,
	}
}

// manyMonths is part of the message of codeTooManyParts if the rows cause the exception.
const manyMonths = "single INSERT block"

// Refused reports whether the sent rows may have caused an exception. It may return true too often: suspected rows are
// tried again before anything is done about them.
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
		codeUnknownIdentifier, codeUnknownSetting, codeUnknownFunction, codeSyntaxError, codeCannotSchedule,
		codeSystemError, codeUnknownException, codeNoKeeper, codeTooFewReplicas, codeQuorumUnsatisfied, codeUnknownInsert, codeKeeperException:
		return false
	}
	return !slices.Contains(diskCodes(), exception.Code)
}

// Refusal returns the code and the message of an exception that the rows may have caused.
func Refusal(err error) (reason string, refused bool) {
	if !Refused(err) {
		return "", false
	}
	exception, _ := errors.AsType[*clickhouse.Exception](err) // Refused has checked the type
	return fmt.Sprintf("code %d: %s", exception.Code, exception.Message), true
}

// InsertError is WriteError for the insert of a block. It returns [ingest.ErrRefused] if the rows may have caused the
// failure.
func InsertError(what string, err error) error {
	if Refused(err) {
		return errors.Join(ingest.ErrRefused, WriteError(what, err))
	}
	return WriteError(what, err)
}
