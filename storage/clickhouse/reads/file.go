package reads

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

// saveEvery is the interval of writing the file. The cached counts of past days change about once a day, so a killed
// process loses little.
const saveEvery = 15 * time.Minute

// File saves the counts of past days, so that the next process need not recount them.
type File struct {
	Store  *Store
	Path   string
	Logger *slog.Logger
}

// Load reads the counts that the previous process saved. Nothing depends on them, so an unusable file is only logged.
func (f *File) Load(ctx context.Context) {
	file, err := os.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = errors.Join(f.Store.LoadDays(ctx, file), file.Close())
	}
	if err != nil {
		f.Logger.Info("past days are counted again", "error", err)
	}
}

// Run writes the file every saveEvery, and once more when ctx ends.
func (f *File) Run(ctx context.Context) error {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return f.save(context.WithoutCancel(ctx))
		}
		if err := f.save(ctx); err != nil {
			f.Logger.Warn("what was counted of past days could not be written", "error", err)
		}
	}
}

// save replaces the file as a whole.
func (f *File) save(ctx context.Context) (err error) {
	file, err := os.OpenFile(f.Path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("writing past days: %w", err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	if err := errors.Join(f.Store.SaveDays(ctx, out), out.Flush(), file.Close()); err != nil {
		return fmt.Errorf("writing past days: %w", err)
	}
	return os.Rename(f.Path+".new", f.Path)
}
