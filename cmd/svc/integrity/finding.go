// Package integrity compares what belongs together when a node starts: the log, the store, the
// master key and the parts of the store's tables. What does not fit is a [Finding]: a start is
// refused, and `svc repair` shows or applies what can be done about it.
package integrity

import (
	"errors"
	"fmt"
	"io"
)

// Finding is a fault that a start would otherwise ignore, or data that it would lose.
type Finding struct {
	// What was found, in numbers, and what `svc repair --apply` would do about it.
	What, Would string
	// Apply does it.
	Apply func() error
	// First is true where nothing can be opened before it was applied.
	First bool
}

// Inspection decides what is done about findings: a start refuses them, a repair shows or applies
// them. The zero value is that of a start.
type Inspection struct {
	repairing, applying bool
	out                 io.Writer
	found               int
	refused             []error
}

// Repair returns the inspection of a repair, which writes to out. It applies what is found only
// where apply is true.
func Repair(out io.Writer, apply bool) Inspection {
	return Inspection{repairing: true, applying: apply, out: out}
}

// Repairing reports whether this is the inspection of a repair.
func (i *Inspection) Repairing() bool { return i.repairing }

// Found is how many findings were reported.
func (i *Inspection) Found() int { return i.found }

// ErrShown ends a repair that cannot look further before something was applied.
var ErrShown = errors.New("this hides what else there may be; apply it first")

// ErrRefused begins the error of a start that is refused.
var ErrRefused = errors.New("this start is refused, because it would lose data in silence")

// Report deals with a finding.
func (i *Inspection) Report(f Finding) error {
	i.found++
	switch {
	case i.applying:
		fmt.Fprintf(i.out, "found    %s\napplying %s\n", f.What, f.Would)
		return f.Apply()
	case i.repairing:
		fmt.Fprintf(i.out, "found    %s\n         --apply %s\n", f.What, f.Would)
		if f.First {
			return ErrShown
		}
		return nil
	}
	err := fmt.Errorf("%s (`svc repair --apply` %s)", f.What, f.Would)
	if f.First {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	i.refused = append(i.refused, err)
	return nil
}

// Verdict is the error of a start for which something was found.
func (i *Inspection) Verdict() error {
	if len(i.refused) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRefused, errors.Join(i.refused...))
}
