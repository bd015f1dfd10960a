// Package console serves the pages at /console. Their data and actions are rows of the API, which enforce every rule.
// The pages are one style sheet, one script, and a part of it for each page.
//
// Their sources are in app. `make console` builds dist, which is committed, so that the program compiles without
// Node.js.
package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"

	"svc/domain"
	"svc/http/console/demo"
	"svc/http/route"
)

//go:embed dist
var dist embed.FS

// policy lets the pages run their own script and style sheet, and connect to their own origin; it forbids everything
// else. The icon is a data address.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// file is a built file. It is compressed at the first request for an encoding.
type file struct {
	kind         string
	plain        []byte
	gzip, brotli func() []byte
	// lasting is true if the name changes with the content.
	lasting bool
}

// Routes returns the rows of the pages and of the demo.
func Routes() ([]route.Route, error) {
	files, err := open(dist)
	if err != nil {
		return nil, err
	}
	row := func(path, operation, summary string, serve route.RawHandler) route.Route {
		return route.Route{Surface: route.Share, Method: http.MethodGet, Path: path, Operation: operation, Effect: route.Read, Summary: summary, Raw: serve}
	}
	return append([]route.Route{
		row("/", "console.root", "Leads browsers to the console.", func(w *route.Response, r *http.Request) {
			if !strings.Contains(r.Header.Get("Accept"), "text/html") {
				w.Refuse(r, domain.Errorf(domain.CodeNotFound, "No such path. The API is at /api/v1, its documentation at /docs."), nil)
				return
			}
			http.Redirect(w, r, "/console", http.StatusSeeOther)
		}),
		row("/console", "console.page", "The console, for people.", func(w *route.Response, r *http.Request) { files["index.html"].serve(w, r) }),
		row("/console/assets/{file}", "console.asset", "A part of the console.", func(w *route.Response, r *http.Request) {
			if found := files[r.PathValue("file")]; found != nil && found.lasting {
				found.serve(w, r)
				return
			}
			w.Refuse(r, domain.NotFound("file"), nil)
		}),
	}, demo.Rows()...), nil
}

// open reads the built files.
func open(built fs.FS) (map[string]*file, error) {
	entries, err := fs.ReadDir(built, "dist")
	if err != nil {
		return nil, fmt.Errorf("opening the console: %w", err)
	}
	files := map[string]*file{}
	for _, entry := range entries {
		plain, err := fs.ReadFile(built, path.Join("dist", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("opening the console: %w", err)
		}
		files[entry.Name()] = &file{
			kind: mime.TypeByExtension(path.Ext(entry.Name())), plain: plain, lasting: path.Ext(entry.Name()) != ".html",
			gzip: sync.OnceValue(func() []byte { return compress(plain, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }) }),
			brotli: sync.OnceValue(func() []byte {
				return compress(plain, func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, brotliLevel) })
			}),
		}
	}
	if files["index.html"] == nil {
		return nil, fmt.Errorf("opening the console: %w", fs.ErrNotExist)
	}
	return files, nil
}

// brotliLevel compresses the script in some 20 ms, and to within 5 % of the best level, which takes a third of a
// second.
const brotliLevel = 6

// compress returns a compressed text, nil if compression fails.
func compress(plain []byte, open func(io.Writer) io.WriteCloser) []byte {
	var small bytes.Buffer
	w := open(&small)
	if _, err := w.Write(plain); err != nil {
		return nil
	}
	if err := w.Close(); err != nil {
		return nil
	}
	return small.Bytes()
}

// serve answers with the file, in an encoding that the browser accepts.
func (f *file) serve(w *route.Response, r *http.Request) {
	head := w.Header()
	route.PageHead(head, f.kind, policy)
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Vary", "Accept-Encoding")
	head.Set("Cache-Control", "no-cache")
	if f.lasting {
		head.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, accepted := f.plain, r.Header.Get("Accept-Encoding")
	for name, compressed := range map[string]func() []byte{"br": f.brotli, "gzip": f.gzip} {
		if !strings.Contains(accepted, name) || name == "gzip" && strings.Contains(accepted, "br") {
			continue
		}
		if small := compressed(); small != nil {
			head.Set("Content-Encoding", name)
			body = small
		}
	}
	_, _ = w.Write(body) // A browser that has disconnected needs no answer.
}
