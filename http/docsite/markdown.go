package docsite

import (
	"bytes"
	"fmt"
	"html/template"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	manual "svc/docs"
)

// indexFile is the file of the index, without its ending. A link to the README.md of the project leads there, too.
const indexFile = "README"

// html turns the markdown of a page into HTML. It drops markup within the markdown, so that no text of a page becomes a
// part of the site.
func (m *Site) html(page *manual.DocPage) (template.HTML, error) {
	source := []byte(page.Markdown)
	converter := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Linkify), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	document := converter.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{taken: map[string]bool{}}))))
	if err := m.direct(document, page.Slug); err != nil {
		return "", fmt.Errorf("directing the links of the page %s: %w", page.Slug, err)
	}
	var out bytes.Buffer
	if err := converter.Renderer().Render(&out, source, document); err != nil {
		return "", fmt.Errorf("rendering the page %s: %w", page.Slug, err)
	}
	return template.HTML(reachable().Replace(out.String())), nil
}

// reachable makes elements that may be wider than the screen scrollable by keys, and turns heading cells without words
// into plain cells. Text of a page is escaped and therefore never contains these tags.
func reachable() *strings.Replacer {
	return strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table tabindex="0">`, "<th></th>", "<td></td>")
}

// pageLink is a link from one markdown file to another, as it is written in the source tree.
var pageLink = regexp.MustCompile(`^([A-Za-z0-9./-]+)\.md(#.*)?$`)

// direct makes links between files point to pages. Links to files that are not pages, and pictures,
// which exist only in the source tree, become text.
func (m *Site) direct(document ast.Node, slug string) error {
	var plain []ast.Node
	err := ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Link:
			if to, ok := m.target(string(node.Destination), slug); ok {
				node.Destination = []byte(to)
			} else {
				plain = append(plain, node)
			}
		case *ast.Image:
			plain = append(plain, node)
		}
		return ast.WalkContinue, nil
	})
	for _, node := range plain {
		parent := node.Parent()
		for child := node.FirstChild(); child != nil; {
			next := child.NextSibling()
			parent.InsertBefore(parent, node, child)
			child = next
		}
		parent.RemoveChild(parent, node)
	}
	return err
}

// target returns the address on the site for a link of a page; it is false for files that are not pages.
func (m *Site) target(to, slug string) (string, bool) {
	if strings.HasPrefix(to, "#") || strings.HasPrefix(to, "/") || strings.Contains(to, "://") {
		return to, true
	}
	match := pageLink.FindStringSubmatch(to)
	if match == nil {
		return "", false
	}
	file := path.Join("docs", path.Dir(slug), match[1])
	name, inside := strings.CutPrefix(file, "docs/")
	if name == indexFile {
		name, inside = indexSlug, true
	}
	if !inside {
		return "", false
	}
	if _, err := m.library.Page(name); err != nil {
		return "", false
	}
	return hrefOf(name) + match[2], true
}

// anchors makes the ids of headings: the words in lower case with dashes between them, as code hosts do, so that links
// work in both; underscores stay.
type anchors struct{ taken map[string]bool }

// Generate returns the id of a heading.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	var id strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
			id.WriteRune(r)
		case r == ' ':
			id.WriteByte('-')
		}
	}
	unique := id.String()
	for n := 1; a.taken[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", id.String(), n)
	}
	a.taken[unique] = true
	return []byte(unique)
}

// Put notes an id that a page sets itself.
func (a *anchors) Put(value []byte) { a.taken[string(value)] = true }
