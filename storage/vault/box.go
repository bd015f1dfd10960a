package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
)

// Box seals secrets for one purpose. Its key is derived for that purpose.
type Box struct{ aead cipher.AEAD }

// ErrBroken means that this box did not seal the data under the given name.
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

// Seal encrypts a secret. Only a box of the same purpose opens it, under the same name.
func (b *Box) Seal(name string, clear []byte) []byte {
	return b.aead.Seal(nil, nil, clear, []byte(name))
}

// Open returns the secret that was sealed under a name. Otherwise it returns ErrBroken.
func (b *Box) Open(name string, sealed []byte) ([]byte, error) {
	clear, err := b.aead.Open(nil, nil, sealed, []byte(name))
	if err != nil {
		return nil, ErrBroken
	}
	return clear, nil
}
