// Package datadir locks the folder in which one process stores its data.
package datadir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Dir is a locked data folder.
type Dir struct {
	path string
	id   string
	lock *os.File
}

// ErrInUse means that another process holds the folder.
var ErrInUse = errors.New("data directory in use")

// lockName is the file that carries the lock of the folder. It holds the owner's process id, for the error of another
// process that finds it locked.
const lockName = "svc.lock"

// Open locks the folder, which it creates if missing. The lock ends with the process, even if the process is killed.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolving the data directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	if err := closeToOthers(path); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the data directory: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner, _ := os.ReadFile(lock.Name())
		_ = lock.Close()
		return nil, fmt.Errorf("%w: %s is held by another svc process (pid %s); stop it, or set SVC_DATA_DIR to another folder", ErrInUse, path, strings.TrimSpace(string(owner)))
	}
	if err := note(lock); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	id, err := identify(filepath.Join(path, idName))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Dir{path: path, id: id, lock: lock}, nil
}

// idName is the file with the random id of the folder. The path is not unique: two containers may both use /data.
const idName = "svc.id"

// identify returns the id of the folder. It creates a missing id.
func identify(file string) (string, error) {
	id, err := os.ReadFile(file)
	if err == nil && len(id) > 0 {
		return strings.TrimSpace(string(id)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("reading the id of the data directory: %w", err)
	}
	made := rand.Text()
	if err := Replace(file, []byte(made+"\n")); err != nil {
		return "", fmt.Errorf("noting the id of the data directory: %w", err)
	}
	return made, nil
}

// ID returns the id of the folder, which is unique across all machines.
func (d *Dir) ID() string { return d.id }

// Permissions on a folder for users other than the owner.
const (
	othersRights = 0o007
	groupRights  = 0o070
)

// closeToOthers removes the permissions of other users from the folder, which holds keys and personal data. If the
// folder belongs to another user and only the group can access it, it stays unchanged: the group's permissions may be
// the ones that let this process in.
func closeToOthers(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("looking at the data directory: %w", err)
	}
	mode := info.Mode().Perm()
	if mode&(othersRights|groupRights) == 0 {
		return nil
	}
	err = os.Chmod(path, mode&^(othersRights|groupRights))
	if err != nil && mode&othersRights != 0 {
		return fmt.Errorf("others can look into the data directory %s (mode %o), and that cannot be changed: %w; run: chmod o-rwx %s, or set SVC_DATA_DIR to another folder", path, mode, err, path)
	}
	return nil
}

func note(lock *os.File) error {
	if err := lock.Truncate(0); err != nil {
		return fmt.Errorf("noting the owner of the data directory: %w", err)
	}
	if _, err := lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("noting the owner of the data directory: %w", err)
	}
	return nil
}

// Join returns the path of a name in the folder.
func (d *Dir) Join(name string) string { return filepath.Join(d.path, name) }

// Close unlocks the folder.
func (d *Dir) Close() error { return d.lock.Close() }

// Force syncs a file, or the names in a folder, to disk, regardless of the process that wrote them.
func Force(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// Replace writes a complete file with mode 0600. A crash leaves either the old content or the new one. The content is
// on disk when Replace returns.
func Replace(path string, content []byte) error {
	partial := path + ".partial"
	if err := os.WriteFile(partial, content, 0o600); err != nil {
		return err
	}
	if err := Force(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return Force(filepath.Dir(path))
}
