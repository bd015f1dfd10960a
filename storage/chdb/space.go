package chdb

import (
	"fmt"
	"strings"
)

// codeNotEnoughSpace is the exception of a write that is refused for lack of disk space.
const codeNotEnoughSpace = 243

// HoldWrites with true refuses every INSERT from now on, as ClickHouse does on a full disk, and stops the running
// merges. A merge on a full disk may leave a part with less than its sources. With false it allows both again. Reads
// and removals continue.
func (e *Engine) HoldWrites(hold bool) error {
	e.held.Store(hold)
	statement := "SYSTEM START MERGES"
	if hold {
		statement = "SYSTEM STOP MERGES"
	}
	return e.command(statement)
}

// KeepSources stops the removal of parts that were merged, in case the merged part is damaged. It lasts until the
// engine is closed.
func (e *Engine) KeepSources() error { return e.command("SYSTEM STOP CLEANUP") }

// CheckParts runs [CheckParts] on the engine's folder.
func (e *Engine) CheckParts() error { return CheckParts(e.dir) }

// command runs a statement on the control connection, outside the pool.
func (e *Engine) command(statement string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := e.control.execute(statement, "Null"); err != nil {
		return fmt.Errorf("%s: %w", strings.ToLower(statement), err)
	}
	return nil
}

// refuse returns an exception if the statement may not run now.
func (h *handler) refuse(s *statement) error {
	if !h.held() || !s.inserts() {
		return nil
	}
	return newException(codeNotEnoughSpace, "NOT_ENOUGH_SPACE", "the disk is almost full: nothing is written until space is made")
}
