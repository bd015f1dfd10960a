// Package script serves the script that web pages load, /svc.js, and its other parts: one is loaded when the page is
// idle, the other when the page requests feature flags. Their sources are in sdk/browser; `make script` builds them.
package script

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"

	"svc/http/route"
)

//go:embed assets
var assets embed.FS

// file is one script in the encodings that browsers accept; each encoding is made at its first request.
type file struct {
	plain        []byte
	gzip, brotli func() []byte
	tag          string
}

// Routes returns the rows of the scripts.
func Routes() ([]route.Route, error) {
	rows := []route.Route{}
	for _, part := range []struct{ name, operation, summary string }{
		{"svc.js", "script.core", "The script of a web page: views, events, errors."},
		{"svc-vitals.js", "script.vitals", "The part of the script that measures web vitals."},
		{"svc-flags.js", "script.flags", "The part of the script that evaluates feature flags."},
	} {
		f, err := open(part.name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, route.Route{
			Surface: route.Share, Method: http.MethodGet, Path: "/" + part.name, Operation: part.operation, Effect: route.Read, Summary: part.summary, Raw: f.serve,
		})
	}
	return rows, nil
}

// open reads a script.
func open(name string) (*file, error) {
	plain, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return nil, fmt.Errorf("opening the script %s: %w", name, err)
	}
	sum := sha256.Sum256(plain)
	return &file{
		plain: plain, tag: base64.RawURLEncoding.EncodeToString(sum[:12]),
		gzip: sync.OnceValue(func() []byte {
			return compressed(plain, func(w io.Writer) io.WriteCloser {
				writer, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // It fails for unknown levels only.
				return writer
			})
		}),
		brotli: sync.OnceValue(func() []byte {
			return compressed(plain, func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, brotli.BestCompression) })
		}),
	}, nil
}

// compressed returns the output of a compressor for a text.
func compressed(plain []byte, compressor func(w io.Writer) io.WriteCloser) []byte {
	var small bytes.Buffer
	writer := compressor(&small)
	_, _ = writer.Write(plain) // Writing to memory cannot fail.
	_ = writer.Close()         // Writing to memory cannot fail.
	return small.Bytes()
}

// serve answers with the script. A page of any origin may load it, and a browser revalidates it after an hour.
func (f *file) serve(w *route.Response, r *http.Request) {
	head := w.Header()
	head.Set("Content-Type", "text/javascript; charset=utf-8")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Access-Control-Allow-Origin", "*")
	head.Set("Cross-Origin-Resource-Policy", "cross-origin")
	head.Set("Cache-Control", "public, max-age=3600, stale-while-revalidate=86400")
	head.Set("Vary", "Accept-Encoding")
	body, tag := f.plain, f.tag
	switch accepted := r.Header.Get("Accept-Encoding"); {
	case strings.Contains(accepted, "br"):
		head.Set("Content-Encoding", "br")
		body, tag = f.brotli(), tag+"-br"
	case strings.Contains(accepted, "gzip"):
		head.Set("Content-Encoding", "gzip")
		body, tag = f.gzip(), tag+"-gzip"
	}
	tag = `"` + tag + `"`
	head.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		head.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(body) // A browser that has disconnected needs no answer.
}
