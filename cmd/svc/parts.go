package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"svc/storage/chdb"
	"svc/storage/datadir"
)

// partsFile notes, in the data directory, which parts the tables of the embedded store have: the
// engine starts without a word where one is gone.
const partsFile = "parts.json"

// notedPartsEvery is how often it is written.
const notedPartsEvery = time.Minute

// checkParts compares the folder of the embedded store with what was noted, and forgets the
// note: what a migration drops is missing from no later start.
func (n *node) checkParts() error {
	encoded, err := os.ReadFile(n.dir.Join(partsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var noted []chdb.NotedPart
	if err == nil {
		err = json.Unmarshal(encoded, &noted)
	}
	if err != nil {
		return fmt.Errorf("reading which parts the store had: %w", err)
	}
	missing, err := chdb.MissingParts(n.dir.Join("store"), noted, n.now())
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := n.inspection.report(finding{
			what:  "parts of the store are gone: " + describeParts(missing) + "; restore them from a backup",
			would: "goes on without these rows",
			apply: func() error { return os.Remove(n.dir.Join(partsFile)) }, first: true,
		}); err != nil {
			return err
		}
	}
	if n.inspection.repairing {
		return nil
	}
	return os.Remove(n.dir.Join(partsFile))
}

// describeParts counts what is gone, by table.
func describeParts(missing []chdb.NotedPart) string {
	rows, parts := map[string]uint64{}, map[string][]string{}
	for _, m := range missing {
		rows[m.Table] += m.Rows
		parts[m.Table] = append(parts[m.Table], m.Name)
	}
	var words []string
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		shown := parts[table]
		if len(shown) > shownParts {
			shown = append(slices.Clone(shown[:shownParts]), "…")
		}
		words = append(words, fmt.Sprintf("%d rows of %s (%s)", rows[table], table, strings.Join(shown, ", ")))
	}
	return strings.Join(words, ", ")
}

// shownParts bounds how many parts of a table are named.
const shownParts = 5

// keepParts notes the parts now, now and then, and at the end.
func (n *node) keepParts(ctx context.Context) error {
	if n.engine == nil {
		return nil
	}
	ticker := time.NewTicker(notedPartsEvery)
	defer ticker.Stop()
	for {
		if err := n.noteParts(ctx); err != nil && ctx.Err() == nil {
			n.logger.Warn("the parts of the store could not be noted", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return n.noteParts(context.WithoutCancel(ctx))
		}
	}
}

func (n *node) noteParts(ctx context.Context) error {
	var noted []chdb.NotedPart
	err := n.db.Parts(ctx, func(table, uuid, name string, rows uint64, expires time.Time) {
		noted = append(noted, chdb.NotedPart{Table: table, UUID: uuid, Name: name, Rows: rows, Expires: expires})
	})
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(noted)
	if err != nil {
		return err
	}
	return datadir.Replace(n.dir.Join(partsFile), encoded)
}
