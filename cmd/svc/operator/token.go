package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"svc"
)

// TokenFile holds the bearer of the operator's listener, in the data directory. Whoever can
// read the file may operate this node.
const TokenFile = "operator.token"

// operatorPrefix begins the operator's tokens. They are no access tokens: no other listener
// knows them.
const operatorPrefix = "svc_opr_"

// ownFile is the mode of a file for its owner's eyes only.
const ownFile = 0o600

// OpenToken returns the token in a file. It makes a new one where there is none,
// where the present one is cut short, and where others could have read it; nothing else
// depends on the old one, since every command reads the file. A crash leaves the whole
// token or none.
func OpenToken(file string, random func(n int) []byte) (svc.Secret, error) {
	info, err := os.Lstat(file)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&^ownFile == 0 {
		if token, err := ReadToken(file); err == nil {
			return token, nil
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("looking for the operator's token: %w", err)
	}
	token := svc.MintSecret(operatorPrefix, random(32))
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
func ReadToken(file string) (svc.Secret, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the operator's token: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if len(token) != len(svc.MintSecret(operatorPrefix, make([]byte, 32))) || !strings.HasPrefix(token, operatorPrefix) {
		return "", fmt.Errorf("reading the operator's token: %s holds none; the server writes one at its start", file)
	}
	return svc.Secret(token), nil
}
