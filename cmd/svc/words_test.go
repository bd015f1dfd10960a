package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/version"
)

// TestEveryCommandExplainsItself requests help from each command, which is not an error, and passes each an unknown
// flag and an unknown word, which is one.
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
			if !errors.Is(err, cli.ErrUsage) || exitCode(err) != 2 {
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
		if err := dispatch(context.Background(), c.args, &stdout, &stderr); !errors.Is(err, cli.ErrUsage) || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: %v; %q, want %q", c.args, err, stderr.String(), c.want)
		}
	}
}

func TestTheVersionIsKnown(t *testing.T) {
	var stdout bytes.Buffer
	if err := version.Run(context.Background(), nil, &stdout, &stdout); err != nil || strings.Contains(stdout.String(), "unknown") {
		t.Errorf("%v: %s", err, stdout.String())
	}
}
