package chdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// tokenLogs syncs the deduplication logs of all tables to disk. The engine passes a recorded token to the operating
// system and continues. After a loss of power a table could therefore have the synced rows of an insert but not its
// token: a repeated insert would be stored twice.
type tokenLogs struct {
	dir string
	// sync syncs one file or folder.
	sync func(name string) error

	mu sync.Mutex
	// forced maps each log to the size up to which it is on disk.
	forced map[string]int64
}

// newTokenLogs returns the logs below a data folder. The first call of force syncs all of them.
func newTokenLogs(dir string) *tokenLogs {
	return &tokenLogs{dir: dir, sync: forceFile, forced: map[string]int64{}}
}

// force returns once every token that was recorded before the call is on disk. On a nil receiver it does nothing. After
// an error the next call tries again.
func (l *tokenLogs) force() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	logs, err := filepath.Glob(filepath.Join(l.dir, "store", "*", "*", "deduplication_logs", "*.txt"))
	if err != nil {
		return fmt.Errorf("listing deduplication logs: %w", err)
	}
	there := make(map[string]int64, len(logs))
	for _, log := range logs {
		size, err := l.forceOne(log)
		switch {
		case errors.Is(err, fs.ErrNotExist): // the engine has started a new log, or dropped the table
		case err != nil:
			return fmt.Errorf("forcing a deduplication log to disk: %w", err)
		default:
			there[log] = size
			l.forced[log] = size
		}
	}
	l.forced = there
	return nil
}

// forceOne syncs a log that has grown, and its name if it is new. It returns the size of the log.
func (l *tokenLogs) forceOne(log string) (size int64, err error) {
	info, err := os.Stat(log)
	if err != nil {
		return 0, err
	}
	before, known := l.forced[log]
	if known && before == info.Size() {
		return before, nil
	}
	if err := l.sync(log); err != nil {
		return 0, err
	}
	if !known {
		if err := l.sync(filepath.Dir(log)); err != nil {
			return 0, err
		}
	}
	return info.Size(), nil
}

// forceFile returns once the content of a file, or the names in a folder, are on disk.
func forceFile(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
