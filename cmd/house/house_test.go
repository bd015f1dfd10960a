package main

import "testing"

// TestProseIsRead compares the prose of small files with the expected lines.
func TestProseIsRead(t *testing.T) {
	t.Parallel()
	for path, tc := range map[string]struct {
		text string
		want []string
	}{
		"a.go":  {"package a // a tail\n\n// Doc of a.\nvar x = \"// no\" /* no */\n//nolint:x\n/* block\nof words */\nvar y int\n", []string{"a tail", "Doc of a.", "block", "of words"}},
		"a.sql": {"-- Counts.\nSELECT 1 -- not read\n", []string{"Counts."}},
		"a.md":  {"# Title\n\n```sh\ncode what\n```\ntext\n|--|\n", []string{"# Title", "text"}},
	} {
		var got []string
		for _, line := range prose(path, tc.text) {
			got = append(got, line)
		}
		if len(got) != len(tc.want) {
			t.Errorf("%s: %q, want %q", path, got, tc.want)
			continue
		}
		for i := range got {
			if got[i] != tc.want[i] {
				t.Errorf("%s: line %d is %q, want %q", path, i, got[i], tc.want[i])
			}
		}
	}
}

// TestRates counts the phrases of one text.
func TestRates(t *testing.T) {
	t.Parallel()
	p := &Phrases{words: 20_000, hits: []int{4, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}
	figures := p.Figures()
	if figures[0].Value != 2 || figures[0].Above() || figures[1].Value != 15 || !figures[1].Above() {
		t.Errorf("got %+v and %+v", figures[0], figures[1])
	}
}

// TestFiguresStayWithinTheirLimits measures the project.
func TestFiguresStayWithinTheirLimits(t *testing.T) {
	t.Parallel()
	figures, err := Measure(".")
	if err != nil {
		t.Fatal(err)
	}
	counted, err := Count(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(figures, counted.Figures()...) {
		if f.Above() {
			t.Errorf("%s: %.4g, the limit is %.4g: %s", f.Name, f.Value, f.Limit, f.Advice)
		}
	}
	t.Log(counted.Worst(10))
}
