package main

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"svc/cmd/svc/operator"
)

// TestTheListenerAsksForTheTokenOfTheDataDirectory sends requests to a running server as a web page does, and as `svc
// admin` does.
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
	token, err := operator.ReadToken(filepath.Join(s.dir, operator.TokenFile))
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
	if err := operator.Run(context.Background(), append(list, "--token-file", filepath.Join(s.dir, operator.TokenFile)), &stdout, &stderr); err != nil || strings.Contains(stdout.String(), "evil") {
		t.Errorf("svc admin: %v %s", err, stdout.String())
	}
	t.Setenv("SVC_DATA_DIR", s.dir)
	if err := operator.Run(context.Background(), list, &stdout, &stderr); err != nil {
		t.Errorf("svc admin beside the server's settings: %v", err)
	}
	t.Setenv("SVC_DATA_DIR", t.TempDir())
	if err := operator.Run(context.Background(), list, &stdout, &stderr); err == nil || !strings.Contains(err.Error(), "SVC_DATA_DIR") {
		t.Errorf("svc admin in another folder: %v", err)
	}
}
