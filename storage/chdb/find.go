package chdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Version is the libchdb release that this package is written for and tested with. The fetch script uses the same one.
const Version = "26.7.3-stable.1"

// libraryFile is the name of the library inside its cache folder. It is the same on every platform, because the package
// ships it under this name.
const libraryFile = "libchdb.so"

// FindLibrary returns the path of libchdb. If explicit (the value of SVC_CHDB_LIB) is not empty, it is the path of the
// file itself. Otherwise the file is expected in the folder that the fetch script fills: chdb/<Version> below
// $SVC_CACHE_DIR, or below the folder svc of the user's cache folder. FindLibrary does not check the file's content.
// Its error names the command to run.
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

// checkFile returns an error if path cannot be loaded as a library, as far as the file system shows.
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
