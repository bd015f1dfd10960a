package main

import (
	"encoding/hex"
	"fmt"
	"testing"

	"svc/domain"
)

// TestAnApplicationRequiresProofsOfIDs switches the requirement on and off, replaces a secret key, and restarts. A
// public key may name a person only as the current setting allows.
func TestAnApplicationRequiresProofsOfIDs(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	keys := s.boot.Keys["production"]
	change := func(on bool) {
		t.Helper()
		got := s.call("PATCH", appPath, s.boot.Token, fmt.Appendf(nil, `{"requireUserHash":%t}`, on), nil)
		if got.status != 200 || object(t, got.body)["requireUserHash"] != on {
			t.Fatalf("the setting %t: %d %s", on, got.status, got.body)
		}
	}
	identify := func(key, hash string) (accepted float64) {
		t.Helper()
		body := fmt.Appendf(nil, `{"items":[{"type":"identify","distinctId":"ada","traits":{"plan":"pro"},"userHash":%q}]}`, hash)
		got := s.call("POST", "/api/v1/batch", key, body, nil)
		accepted, _ = object(t, got.body)["accepted"].(float64)
		return accepted
	}
	proof := func(secret string) string {
		return hex.EncodeToString(domain.UserHash(domain.HashSecret(secret), "ada"))
	}
	want := func(when string, bare, proved, server float64) {
		t.Helper()
		eventually(t, when, func() error { // each node receives settings and keys a moment later
			if got := [3]float64{identify(keys.Public, ""), identify(keys.Public, proof(keys.Secret)), identify(keys.Secret, "")}; got != [3]float64{bare, proved, server} {
				return fmt.Errorf("accepted are %v", got)
			}
			return nil
		})
	}
	want("at first", 1, 1, 1)
	change(true)
	want("required", 0, 1, 1)
	made := object(t, s.call("POST", appPath+"/keys", s.boot.Token, []byte(`{"kind":"secret","environment":"production","label":"next"}`), nil).body)
	former := keys
	keys.Secret, _ = made["key"].(string)
	want("with a new secret key", 0, 1, 1)
	keys = former
	want("and the former one", 0, 1, 1)
	change(false)
	want("not required", 1, 1, 1)
	change(true)
	before := s.boot
	s.stopped()
	s = startServer(t, dir, nil)
	s.boot.Token, s.boot.Keys = before.Token, before.Keys
	want("after a restart", 0, 1, 1)
}
