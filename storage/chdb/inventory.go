package chdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// NotedPart is a part that a table had when its parts were last noted.
type NotedPart struct {
	Table string `json:"table"`
	UUID  string `json:"uuid"`
	Name  string `json:"name"`
	Rows  uint64 `json:"rows"`
	// Expires is when its last row expires, zero if one never does.
	Expires time.Time `json:"expires"`
}

// MissingParts returns the noted parts that are gone: neither they nor a part that they were merged
// into are in the data folder dir, and their rows had not expired by now. The engine itself would
// start without an error. MissingParts must not run while an engine has the folder open.
func MissingParts(dir string, noted []NotedPart, now time.Time) ([]NotedPart, error) {
	defined, err := definedTables(dir)
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", err)
	}
	lying := map[string][]part{}
	var missing []NotedPart
	for _, n := range noted {
		want, ok := parsePart(n.Name)
		if !ok || !n.Expires.IsZero() && n.Expires.Before(now) || !strings.Contains(defined, n.UUID) {
			continue
		}
		parts, listed := lying[n.UUID]
		if !listed {
			if parts, err = listParts(tableDir(dir, n.UUID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("listing the parts of %s: %w", n.Table, err)
			}
			lying[n.UUID] = parts
		}
		if !slices.ContainsFunc(parts, func(p part) bool { return p.covers(want) }) {
			missing = append(missing, n)
		}
	}
	return missing, nil
}

// definedTables returns the identities of the tables that the engine knows; parts of a dropped
// table are not missing.
func definedTables(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "store", "*", "*", "*.sql"))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		line, _, _ := strings.Cut(string(text), "\n") // ATTACH TABLE _ UUID '…'
		all.WriteString(line)
	}
	return all.String(), nil
}
