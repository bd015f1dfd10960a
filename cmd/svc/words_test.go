package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestEveryCommandExplainsItself asks each command for help, which is no mistake, and tells
// each a flag and a word that it does not know, which is one.
func TestEveryCommandExplainsItself(t *testing.T) {
	for _, c := range commands() {
		for _, flag := range []string{"--help", "-h"} {
			var stdout, stderr bytes.Buffer
			err := dispatch(context.Background(), []string{c.name, flag}, &stdout, &stderr)
			shown := stdout.String() + stderr.String()
			if err != nil || !strings.Contains(shown, "Usage:") || !strings.Contains(shown, "svc "+c.name) {
				t.Errorf("svc %s %s: %v; %q, %q", c.name, flag, err, stdout.String(), stderr.String())
			}
		}
		for _, word := range []string{"--nothing", "nothing"} {
			if word == "nothing" && (c.name == "backup" || c.name == "restore") {
				continue // a folder
			}
			var stdout, stderr bytes.Buffer
			err := dispatch(context.Background(), []string{c.name, word}, &stdout, &stderr)
			if !errors.Is(err, errUsage) || exitCode(err) != 2 {
				t.Errorf("svc %s %s: %v; %q", c.name, word, err, stderr.String())
			}
		}
	}
}

func TestMisspeltWordsAreAskedAbout(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serv"}, "did you mean svc serve?"},
		{[]string{"admni"}, "did you mean svc admin?"},
		{[]string{"admin", "token", "mint"}, "did you mean svc admin tokens mint?"},
		{[]string{"admin", "tokens", "mint", "--exprires", "5h"}, "did you mean --expires?"},
		{[]string{"import", "acces-log"}, "did you mean svc import access-log?"},
		{[]string{"frobnicate"}, `there is no command "frobnicate"` + "\n"},
	} {
		var stdout, stderr bytes.Buffer
		if err := dispatch(context.Background(), c.args, &stdout, &stderr); !errors.Is(err, errUsage) || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: %v; %q, want %q", c.args, err, stderr.String(), c.want)
		}
	}
}

// TestMisspeltSettingsAreRefused knows every setting, asks about what is nearly one, and
// lets what a platform adds pass.
func TestMisspeltSettingsAreRefused(t *testing.T) {
	environment := []string{"PATH=/bin", "SVC_URL=x", "SVC_SERVICE_HOST=10.0.0.1", "SVC_PORT_8080_TCP=tcp://10.0.0.1:8080"}
	for _, s := range settings() {
		environment = append(environment, s.name+"=x")
	}
	unread, err := misspelt(environment)
	if err != nil || !slices.Equal(unread, []string{"SVC_SERVICE_HOST", "SVC_PORT_8080_TCP"}) {
		t.Errorf("%v, %v", unread, err)
	}
	_, err = misspelt([]string{"SVC_HTTP_ADRR=:1", "SVC_PARTITION=8"})
	for _, want := range []string{"SVC_HTTP_ADRR is no setting; did you mean SVC_HTTP_ADDR?", "SVC_PARTITION is no setting; did you mean SVC_PARTITIONS?"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestOneStoreIsNamed(t *testing.T) {
	for dsn, want := range map[string]string{
		"clickhouse://svc:hidden@a:9000,b:9000/svc": "names 2 servers", "http://a:8123/svc": "", "clickhouse://a:9000/svc": "", "clickhouse://svc:hidden@a:9000/%zz": "is no URL",
	} {
		_, err := loadConfig(func(name string) (string, bool) { return dsn, name == "SVC_CLICKHOUSE_DSN" })
		if (want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden")) {
			t.Errorf("%s: %v, want %q", dsn, err, want)
		}
	}
}

func TestTheVersionIsKnown(t *testing.T) {
	var stdout bytes.Buffer
	if err := runVersion(context.Background(), nil, &stdout, &stdout); err != nil || strings.Contains(stdout.String(), "unknown") {
		t.Errorf("%v: %s", err, stdout.String())
	}
}
