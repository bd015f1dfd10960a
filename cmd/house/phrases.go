package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// phrase is a turn of phrase that a reader stumbles over. The limit per 10,000 words is a rate that well-kept projects
// stay below.
type phrase struct {
	name, pattern string
	limit         float64
	advice        string
}

// phrases lists the turns of phrase.
func phrases() []phrase {
	return []phrase{
		{"what", `\b(?:[Ww]hat|whatever)\b`, 12, "name the thing: the rows that, the settings"},
		{"who", `\b(?:whose|whom|whoever|[Ww]ho)\b`, 12, "name the actor: the caller, users that"},
		{"where for if", `\b[Ww]here (?:it|they|a|an|the|no|nothing|none|one|any|nobody|some|this|that|its|there|two|all|only)\b`, 8, "write if or when"},
		{"those", `\b[Tt]hose\b`, 8, "repeat the noun"},
		{"tell", `\b(?:tells?|told|telling)\b`, 3, "reports, notifies, returns, shows"},
		{"keep", `\b(?:kept|keeps)\b`, 6, "stored, cached, retained"},
		{"nobody", `\b(?:[Nn]obody|[Ee]verybody|[Ss]omebody|no one)\b`, 2, "no caller, nothing, any user"},
		{"beside", `\b[Bb]eside\b`, 1, "next to, in addition to"},
		{"have it do", `\b(?:has|have|had) (?:the|a|an|it|them|its|each|every|all|their)(?: \w+){1,3} (?:do|make|take|read|store|look|send|ask|answer|run|go|begin|end|wait|come|give|show|write|load|save|be)\b`, 1, "makes it do, or the verb itself"},
		{"anew", `\b(?:anew|of whom|of which it is known|that is none|says of|is told of|by itself whoever|thereof|therein|in its stead|hitherto)\b`, 0.5, "plain current English"},
		{"of it that", `\b(?:of it that|of them that|of these that|of others that|is of the|are of the|is that of|are those of)\b`, 2, "belongs to, comes from, or the noun again"},
		{"is all that", `\b(?:is all that|all that is|and no other|are none|is none|is no longer one|as ever)\b`, 1, "say it directly"},
	}
}

// per is the number of words that a rate refers to.
const per = 10_000

// Phrases counts the turns of phrase in comments and documents.
type Phrases struct {
	words int
	hits  []int
	lines []hitLine
}

type hitLine struct {
	hits  int
	where string
}

// Count reads the comments and documents of the project in a folder.
func Count(root string) (*Phrases, error) {
	list := phrases()
	patterns := make([]*regexp.Regexp, len(list))
	for i := range list {
		patterns[i] = regexp.MustCompile(list[i].pattern)
	}
	p := &Phrases{hits: make([]int, len(list))}
	err := walk(root, func(path string) error {
		if !isProse(path) {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return fmt.Errorf("reading a file: %w", err)
		}
		for number, line := range prose(path, string(text)) {
			p.words += len(strings.Fields(line))
			found := 0
			for i, pattern := range patterns {
				hits := len(pattern.FindAllString(line, -1))
				p.hits[i] += hits
				found += hits
			}
			if found > 0 {
				p.lines = append(p.lines, hitLine{found, fmt.Sprintf("%s:%d: %s", path, number, line)})
			}
		}
		return nil
	})
	return p, err
}

// Figures returns the rate of each phrase.
func (p *Phrases) Figures() []Figure {
	var out []Figure
	for i, one := range phrases() {
		rate := float64(p.hits[i]) / float64(max(p.words, 1)) * per
		out = append(out, Figure{fmt.Sprintf("%q in 10,000 words", one.name), rate, one.limit, one.advice})
	}
	return out
}

// Worst returns the lines with the most phrases.
func (p *Phrases) Worst(n int) (lines []string) {
	slices.SortStableFunc(p.lines, func(a, b hitLine) int { return cmp.Compare(b.hits, a.hits) })
	for _, line := range p.lines[:min(n, len(p.lines))] {
		lines = append(lines, line.where)
	}
	return lines
}

// isProse reports whether a file contains prose that people wrote.
func isProse(path string) bool {
	if strings.HasSuffix(path, ".pb.go") || strings.HasSuffix(path, "schema.d.ts") {
		return false
	}
	return slices.Contains([]string{".go", ".sql", ".ts", ".tsx", ".mjs", ".md"}, filepath.Ext(path))
}

// lineComment finds a comment of Go or TypeScript that reaches to the end of the line.
var lineComment = regexp.MustCompile(`(?:^|\s)//\s?(.*)$`)

// prose yields the lines of prose of a file by their numbers: Markdown outside of code blocks, and comments.
func prose(path, text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		reader := proseReader{ext: filepath.Ext(path)}
		number := 0
		for line := range strings.Lines(text) {
			number++
			if words := reader.line(strings.TrimRight(line, "\n")); words != "" && !yield(number, words) {
				return
			}
		}
	}
}

// proseReader remembers whether it is within a block.
type proseReader struct {
	ext   string
	block bool
}

// line returns the prose of the next line.
func (r *proseReader) line(line string) string {
	text := strings.TrimSpace(line)
	switch r.ext {
	case ".md":
		if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
			r.block = !r.block
			return ""
		}
		if r.block || strings.HasPrefix(text, "|--") {
			return ""
		}
		return text
	case ".sql":
		comment, _ := strings.CutPrefix(text, "--")
		if comment == text {
			return ""
		}
		return strings.TrimSpace(comment)
	}
	if r.block || strings.HasPrefix(text, "/*") {
		r.block = !strings.Contains(text, "*/")
		return strings.Trim(text, "*/ ")
	}
	found := lineComment.FindStringSubmatch(line)
	if found == nil || strings.HasPrefix(found[1], "nolint") || strings.HasPrefix(found[1], "go:") {
		return ""
	}
	return strings.TrimSpace(found[1])
}
