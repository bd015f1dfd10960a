package svc_test

import (
	"testing"

	"svc"
)

func TestVisitorAgent(t *testing.T) {
	for connection, want := range map[string]string{
		"curl/7.88.1":            "",
		"Go-http-client/1.1":     "",
		"python-requests/2.32.3": "",
		"node":                   "",
		"":                       "",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36",
		"Googlebot/2.1 (+http://www.google.com/bot.html)":                                                   "Googlebot/2.1 (+http://www.google.com/bot.html)",
		"curling/1.0": "curling/1.0",
	} {
		if got := svc.VisitorAgent(connection); got != want {
			t.Errorf("VisitorAgent(%q) = %q, want %q", connection, got, want)
		}
	}
}
