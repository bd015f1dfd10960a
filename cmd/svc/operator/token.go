package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"svc/domain"
)

// TokenFile holds the bearer token of the operator's listener, in the data directory. Anyone that can read the file may
// operate this node.
const TokenFile = "operator.token"

// operatorPrefix is the prefix of operator tokens. They are not access tokens: no other listener accepts them.
const operatorPrefix = "svc_opr_"

// ownFile is the mode of a file that only its owner may read.
const ownFile = 0o600

// OpenToken returns the token in a file. It creates a new one if the file is missing or truncated, or if others could
// have read it. Nothing else depends on the old token, because every command reads the file. A crash leaves the
// complete token or none.
func OpenToken(file string, random func(n int) []byte) (domain.Secret, error) {
	info, err := os.Lstat(file)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&^ownFile == 0 {
		if token, err := ReadToken(file); err == nil {
			return token, nil
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("looking for the operator's token: %w", err)
	}
	token := domain.MintSecret(operatorPrefix, random(32))
	partial := file + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("writing the operator's token: %w", err)
	}
	if err := os.WriteFile(partial, []byte(token.Reveal()+"\n"), ownFile); err != nil {
		return "", fmt.Errorf("writing the operator's token: %w", err)
	}
	if err := os.Rename(partial, file); err != nil {
		return "", fmt.Errorf("writing the operator's token: %w", err)
	}
	return token, nil
}

// ReadToken returns the token in a file.
func ReadToken(file string) (domain.Secret, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the operator's token: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if len(token) != len(domain.MintSecret(operatorPrefix, make([]byte, 32))) || !strings.HasPrefix(token, operatorPrefix) {
		return "", fmt.Errorf("reading the operator's token: %s holds none; the server writes one at its start", file)
	}
	return domain.Secret(token), nil
}
