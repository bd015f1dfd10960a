package chdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// NotedPart is a part that a table had at the last inventory.
type NotedPart struct {
	Table string `json:"table"`
	UUID  string `json:"uuid"`
	Name  string `json:"name"`
	Rows  uint64 `json:"rows"`
	// Expires is the time at which the last row expires. It is zero if a row never expires.
	Expires time.Time `json:"expires"`
}

// MissingParts returns the noted parts that are lost. A part is lost if the data folder dir has neither it nor a part
// that it was merged into. A part whose rows had expired by now does not count. Neither does a part of a table from
// which rows were deleted later: a deletion leaves empty parts, and the engine drops them. The engine itself would
// start without an error. MissingParts must not run while an engine has the folder open.
func MissingParts(dir string, noted []NotedPart, now time.Time) ([]NotedPart, error) {
	defined, err := definedTables(dir)
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", err)
	}
	lying := map[string]lyingParts{}
	var missing []NotedPart
	for _, n := range noted {
		want, ok := parsePart(n.Name)
		if !ok || n.Rows == 0 || !n.Expires.IsZero() && n.Expires.Before(now) || !strings.Contains(defined, n.UUID) {
			continue
		}
		table, listed := lying[n.UUID]
		if !listed {
			if table, err = listTable(tableDir(dir, n.UUID)); err != nil {
				return nil, fmt.Errorf("listing the parts of %s: %w", n.Table, err)
			}
			lying[n.UUID] = table
		}
		if want.version >= table.deletion && !slices.ContainsFunc(table.parts, func(p part) bool { return p.covers(want) }) {
			missing = append(missing, n)
		}
	}
	return missing, nil
}

// lyingParts has the parts in the folder of a table, and the version of the last mutation that deleted rows, or zero.
type lyingParts struct {
	parts    []part
	deletion uint64
}

// listTable lists the parts in the folder of a table. The folder may be missing.
func listTable(folder string) (table lyingParts, err error) {
	if table.parts, err = listParts(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return table, err
	}
	mutations, err := filepath.Glob(filepath.Join(folder, "mutation_*.txt"))
	if err != nil {
		return table, err
	}
	for _, file := range mutations {
		version, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "mutation_"), ".txt"), 10, 64)
		if err != nil || version <= table.deletion {
			continue // a file that does not belong to the engine, or an earlier mutation
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return table, err
		}
		if deletes(string(text)) {
			table.deletion = version
		}
	}
	return table, nil
}

// deletes reports whether a mutation, in the engine's own text, deletes rows: at once, or by marking them for the next
// merge.
func deletes(mutation string) bool {
	return strings.Contains(mutation, "DELETE") || strings.Contains(mutation, "_row_exists")
}

// definedTables returns the UUIDs of the tables that the engine knows. Parts of a dropped table are not missing.
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
