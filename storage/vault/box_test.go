package vault

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

func TestABoxOpensWhatItSealed(t *testing.T) {
	v, err := Open("", filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	box, err := v.Box("channels")
	if err != nil {
		t.Fatal(err)
	}
	other, err := v.Box("other")
	if err != nil {
		t.Fatal(err)
	}
	sealed := box.Seal("chn_1", []byte("secret"))
	if bytes.Contains(sealed, []byte("secret")) || bytes.Equal(sealed, box.Seal("chn_1", []byte("secret"))) {
		t.Error("what is sealed shows something of the secret")
	}
	if clear, err := box.Open("chn_1", sealed); err != nil || string(clear) != "secret" {
		t.Errorf("%q, %v", clear, err)
	}
	broken := bytes.Clone(sealed)
	broken[len(broken)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another name":   func() ([]byte, error) { return box.Open("chn_2", sealed) },
		"another box":    func() ([]byte, error) { return other.Open("chn_1", sealed) },
		"a changed byte": func() ([]byte, error) { return box.Open("chn_1", broken) },
		"nothing":        func() ([]byte, error) { return box.Open("chn_1", nil) },
	} {
		if clear, err := open(); !errors.Is(err, ErrBroken) || clear != nil {
			t.Errorf("%s: %q, %v", name, clear, err)
		}
	}
}
