package main

import (
	"errors"
	"fmt"
	"io"
)

// finding is something that a start would pass over in silence, or lose.
type finding struct {
	// what was found, in numbers; would is what `svc repair --apply` does about it.
	what, would string
	apply       func() error
	// first says that nothing can be opened before it was applied.
	first bool
}

// inspection is what is done about findings: a start refuses them, a repair shows or applies
// them.
type inspection struct {
	repairing, applying bool
	out                 io.Writer
	found               int
	refused             []error
}

// errShown ends a repair that cannot look further before something was applied.
var errShown = errors.New("this hides what else there may be; apply it first")

// errRefused begins the error of a start that is refused.
var errRefused = errors.New("this start is refused, because it would lose data in silence")

// report deals with a finding.
func (i *inspection) report(f finding) error {
	i.found++
	switch {
	case i.applying:
		fmt.Fprintf(i.out, "found    %s\napplying %s\n", f.what, f.would)
		return f.apply()
	case i.repairing:
		fmt.Fprintf(i.out, "found    %s\n         --apply %s\n", f.what, f.would)
		if f.first {
			return errShown
		}
		return nil
	}
	err := fmt.Errorf("%s (`svc repair --apply` %s)", f.what, f.would)
	if f.first {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	i.refused = append(i.refused, err)
	return nil
}

// verdict is the error of a start for which something was found.
func (i *inspection) verdict() error {
	if len(i.refused) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", errRefused, errors.Join(i.refused...))
}
