package chdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shownParts is the maximum number of damaged parts that an error names.
const shownParts = 10

// DamagedPart is a part of a table that is empty, incomplete or broken.
type DamagedPart struct {
	// Path is the part's folder below the data folder.
	Path string
	// Reason describes the damage.
	Reason string
}

// DamageError lists the damaged parts of a store and the possible remedies.
type DamageError struct{ Parts []DamagedPart }

func (e *DamageError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d parts of the store are damaged:", len(e.Parts))
	for _, part := range e.Parts[:min(len(e.Parts), shownParts)] {
		fmt.Fprintf(&b, " %s (%s);", part.Path, part.Reason)
	}
	if more := len(e.Parts) - shownParts; more > 0 {
		fmt.Fprintf(&b, " and %d more;", more)
	}
	b.WriteString(" stop the server, copy the data folder, and restore a backup; or move the named folders out of the data folder and start again: the parts that a damaged one was merged of are read again as far as they are still there, and other rows in it are lost")
	return b.String()
}

// CheckParts compares the file sizes of every part below the data folder dir with the sizes in the part's checksums. It
// does not read the files. It also checks the parts that the engine has detached. It returns a [DamageError] if a part
// is empty or incomplete, or was detached because it was broken. It may run while an engine runs, since parts appear
// and disappear as a whole.
func CheckParts(dir string) error {
	tables, err := filepath.Glob(filepath.Join(dir, "store", "*", "*"))
	if err != nil {
		return fmt.Errorf("listing the tables: %w", err)
	}
	var damaged []DamagedPart
	for _, table := range tables {
		some, err := checkTable(dir, table)
		if err != nil {
			return fmt.Errorf("checking the parts of %s: %w", table, err)
		}
		damaged = append(damaged, some...)
	}
	if len(damaged) > 0 {
		return &DamageError{damaged}
	}
	return nil
}

// checkTable checks the parts of one table.
func checkTable(dir, table string) (damaged []DamagedPart, err error) {
	entries, err := os.ReadDir(table)
	if err != nil {
		return nil, gone(err)
	}
	note := func(path, reason string) {
		below, err := filepath.Rel(dir, path)
		if err != nil {
			below = path
		}
		damaged = append(damaged, DamagedPart{below, reason})
	}
	for _, entry := range entries {
		path := filepath.Join(table, entry.Name())
		if _, committed := parsePart(entry.Name()); committed && entry.IsDir() {
			reason, err := checkPart(path)
			if err != nil {
				return nil, err
			}
			if reason != "" {
				note(path, reason)
			}
		}
	}
	detached, err := os.ReadDir(filepath.Join(table, "detached"))
	if gone(err) != nil {
		return nil, err
	}
	for _, entry := range detached {
		if broken(entry.Name()) {
			note(filepath.Join(table, "detached", entry.Name()), "set aside by the engine because it was broken")
		}
	}
	return damaged, nil
}

// broken reports whether the engine gave a detached part its name because it could not read the part.
func broken(name string) bool {
	return slices.ContainsFunc([]string{"broken-on-start_", "broken_", "unexpected_", "covered-by-broken_", "broken-from-backup_"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// checkPart returns the damage of a part, or "" if the part is complete or was removed meanwhile.
func checkPart(path string) (reason string, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", gone(err)
	}
	sizes := map[string]int64{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return "", gone(err)
		}
		sizes[entry.Name()] = info.Size()
	}
	if _, err := os.Stat(path); err != nil {
		return "", gone(err) // removed while its files were listed
	}
	for _, name := range []string{"checksums.txt", "columns.txt", "count.txt"} {
		size, there := sizes[name]
		switch {
		case !there:
			return name + " is missing", nil
		case size == 0:
			return name + " is empty", nil
		}
	}
	count, err := os.ReadFile(filepath.Join(path, "count.txt"))
	if err != nil {
		return "", gone(err)
	}
	if strings.TrimSpace(string(count)) == "0" {
		return "", nil
	}
	var bytes int64
	for name, size := range sizes {
		if strings.HasSuffix(name, ".bin") {
			bytes += size
		}
	}
	if bytes == 0 {
		return "its columns are empty", nil
	}
	return checkSizes(path, sizes)
}

// checkSizes compares the sizes of a part's files with the sizes in its checksums.
func checkSizes(path string, sizes map[string]int64) (reason string, err error) {
	noted, err := notedSizes(filepath.Join(path, "checksums.txt"))
	if err != nil {
		return "", gone(err)
	}
	for name, size := range noted {
		has, there := sizes[name]
		if there && has == size {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return "", gone(err) // removed while its files were listed
		}
		if !there {
			return name + " is missing", nil
		}
		return fmt.Sprintf("%s has %d of %d bytes", name, has, size), nil
	}
	return "", nil
}

// gone returns nil if the error means that a file no longer exists, and the error otherwise.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
