// Package health monitors the state of a node: the progress of its start, the space of its disk, the backlog of the
// log, and the entities and items that could not be read or stored. Readiness and metrics use it. Only the disk affects
// requests: while it is almost full, nothing is accepted.
package health

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Start is the progress of a node that does not serve yet.
type Start struct {
	mu      sync.Mutex
	doing   string
	problem error
	done    bool
}

// Note sets the present step of the start, and the problem because of which the step is retried.
func (s *Start) Note(doing string, problem error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing, s.problem = doing, problem
}

// Finish marks the start as over: the node serves, and the secrets of a first start were shown.
func (s *Start) Finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
}

// Ready is the readiness check: nil once the start is over.
func (s *Start) Ready(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.done:
		return nil
	case s.problem != nil:
		return fmt.Errorf("%s, again: %w", s.doing, s.problem)
	}
	return errors.New(s.doing)
}
