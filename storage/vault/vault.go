// Package vault holds the one secret of an installation and derives from it the keys that the parts of the program
// need. The secret comes from the configuration or from a file with mode 0600.
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

	"svc/domain"
)

// Vault derives keys. It has no printable form.
type Vault struct{ master []byte }

const (
	// masterBytes is the length of a generated master key.
	masterBytes = 32
	// leastBytes is the minimum length of a master key.
	leastBytes = 16
	fileMode   = 0o600
)

// Open takes the master key from the configuration if it is set there, otherwise from the file. It creates a missing
// file. It refuses a file that other users can read.
func Open(configured domain.Secret, file string) (*Vault, error) {
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

// create writes a new master key. A crash leaves either no key or the complete key.
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

// Key derives a key of 32 bytes for a purpose. The same purpose always gets the same key. No key reveals anything about
// another.
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
