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
