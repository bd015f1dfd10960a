package integrity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"svc/storage/chdb"
	"svc/storage/datadir"
)

// partsEvery is the interval at which the file of the parts is written.
const partsEvery = time.Minute

// CheckParts compares the folder of the embedded store with the parts that a [Parts] recorded in a file, because the
// engine starts without a warning if a part is missing. It deletes the file, so that parts that a migration drops are
// not missing at a later start.
func CheckParts(inspection *Inspection, file, store string, now time.Time) error {
	encoded, err := os.ReadFile(file)
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
	missing, err := chdb.MissingParts(store, noted, now)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := inspection.Report(Finding{
			What:  "parts of the store are gone: " + describeParts(missing) + "; restore them from a backup",
			Would: "goes on without these rows",
			Apply: func() error { return os.Remove(file) }, First: true,
		}); err != nil {
			return err
		}
	}
	if inspection.repairing {
		return nil
	}
	return os.Remove(file)
}

// describeParts counts the missing parts by table.
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

// shownParts limits the parts that are named per table.
const shownParts = 5

// Parts records in a file the parts of the embedded store's tables.
type Parts struct {
	File string
	// List calls yield with every part of the store.
	List   func(ctx context.Context, yield func(table, uuid, name string, rows uint64, expires time.Time)) error
	Logger *slog.Logger
}

// Run records the parts at once, every minute, and when ctx has ended.
func (p *Parts) Run(ctx context.Context) error {
	ticker := time.NewTicker(partsEvery)
	defer ticker.Stop()
	for {
		if err := p.note(ctx); err != nil && ctx.Err() == nil {
			p.Logger.Warn("the parts of the store could not be noted", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return p.note(context.WithoutCancel(ctx))
		}
	}
}

func (p *Parts) note(ctx context.Context) error {
	var noted []chdb.NotedPart
	err := p.List(ctx, func(table, uuid, name string, rows uint64, expires time.Time) {
		noted = append(noted, chdb.NotedPart{Table: table, UUID: uuid, Name: name, Rows: rows, Expires: expires})
	})
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(noted)
	if err != nil {
		return err
	}
	return datadir.Replace(p.File, encoded)
}
