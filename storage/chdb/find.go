package chdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Version is the release of libchdb that this package is written and tested for. The
// fetch script names the same one.
const Version = "26.7.3-stable.1"

// libraryFile is the name of the library inside its cache folder. It is the same on
// every platform, because the package ships it under this name.
const libraryFile = "libchdb.so"

// FindLibrary returns the path of libchdb. explicit names the file itself (the value of
// SVC_CHDB_LIB) and wins when it is not empty. Otherwise the file is expected where the
// fetch script puts it: chdb/<Version> below $SVC_CACHE_DIR, or below the folder svc of
// the user's cache folder. The content of the file is not looked at. The error says what
// to run.
func FindLibrary(explicit string) (string, error) {
	if explicit != "" {
		if err := checkFile(explicit); err != nil {
			return "", fmt.Errorf("finding libchdb as SVC_CHDB_LIB says: %w", err)
		}
		return explicit, nil
	}
	cache := os.Getenv("SVC_CACHE_DIR")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache folder (set SVC_CACHE_DIR or SVC_CHDB_LIB): %w", err)
		}
		cache = filepath.Join(user, "svc")
	}
	path := filepath.Join(cache, "chdb", Version, libraryFile)
	if err := checkFile(path); err != nil {
		return "", fmt.Errorf("finding libchdb %s (run `make deps` to fetch it, or set SVC_CHDB_LIB): %w", Version, err)
	}
	return path, nil
}

// checkFile reports why path cannot be loaded as a library, as far as the file system
// can tell.
func checkFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "load", Path: path, Err: errors.New("not a regular file")}
	}
	return nil
}
