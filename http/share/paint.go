package share

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"svc/http/route"
)

//go:embed assets
var assets embed.FS

// painter writes HTML. The page contains the style and the script, so that it is one answer; the policy allows these
// two by their hashes and nothing else.
type painter struct {
	pages    *template.Template
	style    template.CSS
	script   template.JS
	policy   string
	refusals map[int][]byte
}

// refusal is a page without content.
type refusal struct {
	Style       template.CSS
	Title, Text string
}

func newPainter() (*painter, error) {
	style, styleErr := assets.ReadFile("assets/page.css")
	script, scriptErr := assets.ReadFile("assets/page.js")
	pages, err := template.ParseFS(assets, "assets/*.html")
	if err = errors.Join(err, styleErr, scriptErr); err != nil {
		return nil, err
	}
	p := &painter{
		pages: pages, style: template.CSS(style), script: template.JS(script), refusals: map[int][]byte{},
		policy: fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'",
			route.PolicyHash(style), route.PolicyHash(script)),
	}
	for status, content := range map[int]refusal{
		http.StatusNotFound:           {Title: "Nothing is shared here", Text: "The link is wrong, or the owner has stopped sharing this page."},
		http.StatusServiceUnavailable: {Title: "Not now", Text: "The numbers cannot be read at the moment. Please try again in a few seconds."},
	} {
		content.Style = p.style
		var out bytes.Buffer
		if err := pages.ExecuteTemplate(&out, "refusal.html", content); err != nil {
			return nil, err
		}
		p.refusals[status] = out.Bytes()
	}
	return p, nil
}

// page writes a page, compressed.
func (p *painter) page(content *page) ([]byte, error) {
	content.Style, content.Script = p.style, p.script
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	if err := p.pages.ExecuteTemplate(compressed, "page.html", content); err != nil {
		return nil, fmt.Errorf("writing the page: %w", err)
	}
	if err := compressed.Close(); err != nil {
		return nil, fmt.Errorf("compressing the page: %w", err)
	}
	return out.Bytes(), nil
}

// countryName returns the English name of an ISO 3166 code, or the code itself if it has none.
func countryName(code string) string {
	names, err := assets.ReadFile("assets/countries.txt")
	if err != nil || len(code) != 2 {
		return code
	}
	_, rest, found := strings.Cut("\n"+string(names), "\n"+code+" ")
	if !found {
		return code
	}
	name, _, _ := strings.Cut(rest, "\n")
	return name
}
