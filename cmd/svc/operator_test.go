package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheOperatorsTokenIsForItsOwnersEyes makes the file of the operator's token, and makes
// it anew where it is of no use or others could have read it.
func TestTheOperatorsTokenIsForItsOwnersEyes(t *testing.T) {
	file := filepath.Join(t.TempDir(), operatorFile)
	open := func() string {
		t.Helper()
		token, err := openOperatorToken(file, newChance().Bytes)
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

// TestTheListenerAsksForTheTokenOfTheDataDirectory goes the way of a web page and that of
// `svc admin` to a running server.
func TestTheListenerAsksForTheTokenOfTheDataDirectory(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	post := func(header map[string]string) int {
		t.Helper()
		body := strings.NewReader(`{"org":"acme","email":"eve@evil.example","role":"owner"}`)
		request, err := http.NewRequestWithContext(context.Background(), "POST", "http://"+s.operatorAddr()+"/admin/v1/members.put", body)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range header {
			request.Header.Set(name, value)
		}
		request.Host = header["Host"]
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	token, err := readOperatorToken(filepath.Join(s.dir, operatorFile))
	if err != nil {
		t.Fatal(err)
	}
	bearer := "Bearer " + token.Reveal()
	for name, c := range map[string]struct {
		header map[string]string
		status int
	}{
		"no-cors of a web page": {map[string]string{"Origin": "https://evil.example", "Content-Type": "text/plain"}, 403},
		"a rebound name":        {map[string]string{"Host": "evil.example", "Content-Type": "application/json"}, 403},
		"no bearer":             {map[string]string{"Content-Type": "application/json"}, 401},
		"another type":          {map[string]string{"Content-Type": "text/plain", "Authorization": bearer}, 415},
	} {
		if got := post(c.header); got != c.status {
			t.Errorf("%s: %d, want %d", name, got, c.status)
		}
	}
	var stdout, stderr bytes.Buffer
	list := []string{"members", "list", "--org", "acme", "--addr", s.operatorAddr()}
	if err := runAdmin(context.Background(), append(list, "--token-file", filepath.Join(s.dir, operatorFile)), &stdout, &stderr); err != nil || strings.Contains(stdout.String(), "evil") {
		t.Errorf("svc admin: %v %s", err, stdout.String())
	}
	t.Setenv("SVC_DATA_DIR", s.dir)
	if err := runAdmin(context.Background(), list, &stdout, &stderr); err != nil {
		t.Errorf("svc admin beside the server's settings: %v", err)
	}
	t.Setenv("SVC_DATA_DIR", t.TempDir())
	if err := runAdmin(context.Background(), list, &stdout, &stderr); err == nil || !strings.Contains(err.Error(), "SVC_DATA_DIR") {
		t.Errorf("svc admin in another folder: %v", err)
	}
}
