package chdb

import (
	"fmt"
	"strings"
)

// codeNotEnoughSpace is the exception of a write that is refused for lack of disk space.
const codeNotEnoughSpace = 243

// HoldWrites refuses every INSERT from now on, as ClickHouse does on a full disk, and ends the merges
// that run: a merge that meets a full disk may leave a part with less than it was made of. false
// takes both back. Reads and removals go on.
func (e *Engine) HoldWrites(hold bool) error {
	e.held.Store(hold)
	statement := "SYSTEM START MERGES"
	if hold {
		statement = "SYSTEM STOP MERGES"
	}
	return e.command(statement)
}

// KeepSources keeps merged parts from being removed once they were merged, for the case that what
// they were merged into is damaged. It lasts until the engine is closed.
func (e *Engine) KeepSources() error { return e.command("SYSTEM STOP CLEANUP") }

// CheckParts is [CheckParts] of the engine's folder.
func (e *Engine) CheckParts() error { return CheckParts(e.dir) }

// command runs a statement beside the pool.
func (e *Engine) command(statement string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := e.control.execute(statement, "Null"); err != nil {
		return fmt.Errorf("%s: %w", strings.ToLower(statement), err)
	}
	return nil
}

// refuse returns the exception of a statement that may not run now.
func (h *handler) refuse(s *statement) error {
	if !h.held() || !s.inserts() {
		return nil
	}
	return newException(codeNotEnoughSpace, "NOT_ENOUGH_SPACE", "the disk is almost full: nothing is written until space is made")
}
