package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"svc/storage/datadir"
)

func TestASecondOwnerIsToldWhoHoldsTheFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	first, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = datadir.Open(path)
	if !errors.Is(err, datadir.ErrInUse) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) || !strings.Contains(err.Error(), "SVC_DATA_DIR") {
		t.Errorf("got %v, want the holder's pid and what to do", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := datadir.Open(path)
	if err != nil {
		t.Fatalf("after the first closed: %v", err)
	}
	if want := filepath.Join(path, "log"); again.Join("log") != want {
		t.Errorf("Join: %s, want %s", again.Join("log"), want)
	}
	_ = again.Close()
}

func TestAnOpenFolderIsClosedToOthers(t *testing.T) {
	for _, mode := range []os.FileMode{0o755, 0o777, 0o750, 0o701, 0o700} {
		path := t.TempDir()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		dir, err := datadir.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%o became %v, %v", mode, info.Mode(), err)
		}
		_ = dir.Close()
	}
}
