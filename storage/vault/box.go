package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
)

// Box seals secrets for a purpose with a key that is derived for it.
type Box struct{ aead cipher.AEAD }

// ErrBroken is the refusal of a text that this box did not seal under that name.
var ErrBroken = errors.New("the sealed secret is broken, or sealed for something else")

// Box returns the box of a purpose.
func (v *Vault) Box(purpose string) (*Box, error) {
	key, err := v.Key(purpose)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("making the cipher for %s: %w", purpose, err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("making the cipher for %s: %w", purpose, err)
	}
	return &Box{aead}, nil
}

// Seal encrypts a secret so that only the same box opens it, under the same name.
func (b *Box) Seal(name string, clear []byte) []byte {
	return b.aead.Seal(nil, nil, clear, []byte(name))
}

// Open returns what was sealed under a name. It fails with ErrBroken.
func (b *Box) Open(name string, sealed []byte) ([]byte, error) {
	clear, err := b.aead.Open(nil, nil, sealed, []byte(name))
	if err != nil {
		return nil, ErrBroken
	}
	return clear, nil
}
