// Package integrity checks at the start of a node that the log, the store, the master key and the parts of the store's
// tables belong together. A mismatch is a [Finding]: a start is refused, and `svc repair` shows or applies the remedy.
package integrity

import (
	"errors"
	"fmt"
	"io"
)

// Finding is a fault that a start would otherwise ignore, or data that it would lose.
type Finding struct {
	// The finding, in numbers, and the remedy that `svc repair --apply` would apply.
	What, Would string
	// Apply applies the remedy.
	Apply func() error
	// First is true if nothing can be opened before the remedy is applied.
	First bool
}

// Inspection decides how to treat findings: a start refuses them, a repair shows or applies them. The zero value is the
// inspection of a start.
type Inspection struct {
	repairing, applying bool
	out                 io.Writer
	found               int
	refused             []error
}

// Repair returns the inspection of a repair, which writes to out. It applies remedies only if apply is true.
func Repair(out io.Writer, apply bool) Inspection {
	return Inspection{repairing: true, applying: apply, out: out}
}

// Repairing reports whether this is the inspection of a repair.
func (i *Inspection) Repairing() bool { return i.repairing }

// Found returns the number of reported findings.
func (i *Inspection) Found() int { return i.found }

// ErrShown ends a repair that cannot check further before a remedy is applied.
var ErrShown = errors.New("this hides what else there may be; apply it first")

// ErrRefused is the prefix of the error of a refused start.
var ErrRefused = errors.New("this start is refused, because it would lose data in silence")

// Report handles a finding.
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

// Verdict is the error of a start with findings.
func (i *Inspection) Verdict() error {
	if len(i.refused) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRefused, errors.Join(i.refused...))
}
