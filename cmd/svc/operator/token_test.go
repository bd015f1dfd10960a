package operator

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// random returns n random bytes.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// TestTheOperatorsTokenIsForItsOwnersEyes creates the file of the operator's token, and replaces it if it is damaged or
// others could have read it.
func TestTheOperatorsTokenIsForItsOwnersEyes(t *testing.T) {
	file := filepath.Join(t.TempDir(), TokenFile)
	open := func() string {
		t.Helper()
		token, err := OpenToken(file, random)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("the file: %v, %v", info, err)
		}
		return token.Reveal()
	}
	first := open()
	if second := open(); second != first || !strings.HasPrefix(first, "svc_opr_") {
		t.Errorf("%q, then %q", first, second)
	}
	for name, spoil := range map[string]func() error{
		"readable by others": func() error { return os.Chmod(file, 0o644) },
		"cut short":          func() error { return os.WriteFile(file, []byte(first[:20]), 0o600) },
		"empty":              func() error { return os.Truncate(file, 0) },
	} {
		before := open()
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if after := open(); after == before {
			t.Errorf("%s: the token stays", name)
		}
	}
}
