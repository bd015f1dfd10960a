// Package vault holds the one secret of an installation and derives from it the
// keys that its parts need. The secret is given by configuration or kept in a
// file of mode 0600.
package vault

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"svc"
)

// Vault derives keys. It has no form in which it can be printed.
type Vault struct{ master []byte }

const (
	// masterBytes is the length of a generated master key.
	masterBytes = 32
	// leastBytes is the shortest master key that is accepted.
	leastBytes = 16
	fileMode   = 0o600
)

// Open takes the master key from configuration where it is given, else from the
// file, which is made where there is none. A file that others can read is
// refused.
func Open(configured svc.Secret, file string) (*Vault, error) {
	if key := configured.Reveal(); key != "" {
		if len(key) < leastBytes {
			return nil, fmt.Errorf("the master key is shorter than %d characters", leastBytes)
		}
		return &Vault{master: []byte(key)}, nil
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(file)
	case err != nil:
		return nil, fmt.Errorf("looking for the vault key: %w", err)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("the vault key %s can be read by others (mode %o); run: chmod 600 %s", file, info.Mode().Perm(), file)
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the vault key: %w", err)
	}
	if len(key) < leastBytes {
		return nil, fmt.Errorf("the vault key %s is cut short; restore it from a backup", file)
	}
	return &Vault{master: key}, nil
}

// create writes a new master key so that a crash leaves either none or all of it.
func create(file string) (*Vault, error) {
	key := make([]byte, masterBytes)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("making the vault key: %w", err)
	}
	partial := file + ".partial"
	if err := os.WriteFile(partial, key, fileMode); err != nil {
		return nil, fmt.Errorf("writing the vault key: %w", err)
	}
	if err := os.Rename(partial, file); err != nil {
		return nil, fmt.Errorf("writing the vault key: %w", err)
	}
	return &Vault{master: key}, nil
}

// Key derives a key of 32 bytes for a purpose. The same purpose always gets the same key, and no
// key reveals anything about another.
func (v *Vault) Key(purpose string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, v.master, nil, "svc "+purpose, masterBytes)
	if err != nil {
		return nil, fmt.Errorf("deriving the key for %s: %w", purpose, err)
	}
	return key, nil
}

// Fingerprint identifies this master key without revealing anything about it.
func (v *Vault) Fingerprint() (string, error) {
	key, err := v.Key("fingerprint")
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(key[:fingerprintBytes]), nil
}

const fingerprintBytes = 12
