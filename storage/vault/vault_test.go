package vault_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/storage/vault"
)

func key(t *testing.T, v *vault.Vault, purpose string) []byte {
	t.Helper()
	k, err := v.Key(purpose)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestAKeyFileIsMadeOnceAndKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vault.key")
	first, err := vault.Open("", file)
	if err != nil {
		t.Fatal(err)
	}
	second, err := vault.Open("", file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(key(t, first, "cursors"), key(t, second, "cursors")) {
		t.Error("the key changed between two starts")
	}
	if bytes.Equal(key(t, first, "cursors"), key(t, first, "sessions")) {
		t.Error("two purposes share a key")
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o, want 600", info.Mode().Perm())
	}
}

func TestAReadableKeyFileIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vault.key")
	if err := os.WriteFile(file, bytes.Repeat([]byte{7}, 32), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Open("", file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v, want advice to run chmod 600", err)
	}
}

func TestAConfiguredKeyNeedsNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vault.key")
	v, err := vault.Open("a key of some length", file)
	if err != nil {
		t.Fatal(err)
	}
	if len(key(t, v, "cursors")) != 32 {
		t.Error("the key is not 32 bytes")
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error("a file was written")
	}
	if _, err := vault.Open("short", file); err == nil {
		t.Error("a short key was accepted")
	}
}
