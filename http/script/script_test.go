package script

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/andybalholm/brotli"

	"svc/http/route"
)

// TestTheScriptIsSmall bounds the size of the script that every page loads.
func TestTheScriptIsSmall(t *testing.T) {
	for name, limit := range map[string]int{"svc.js": 4096, "svc-vitals.js": 4096, "svc-flags.js": 1024} {
		f, err := open(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.brotli()) > limit || len(f.brotli()) < 500 {
			t.Errorf("%s has %d bytes in brotli, allowed are %d", name, len(f.brotli()), limit)
		}
	}
}

// TestTheScriptIsServed requests all scripts in every encoding, and again with the tag of the answer.
func TestTheScriptIsServed(t *testing.T) {
	rows, err := Routes()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		want, err := assets.ReadFile("assets" + row.Path)
		if err != nil {
			t.Fatal(err)
		}
		for encoding, decode := range map[string]func(io.Reader) io.Reader{
			"":     func(r io.Reader) io.Reader { return r },
			"br":   func(r io.Reader) io.Reader { return brotli.NewReader(r) },
			"gzip": func(r io.Reader) io.Reader { zipped, _ := gzip.NewReader(r); return zipped },
		} {
			ask := func(tag string) *httptest.ResponseRecorder {
				request := httptest.NewRequest(row.Method, row.Path, nil)
				request.Header.Set("Accept-Encoding", encoding)
				request.Header.Set("If-None-Match", tag)
				answer := httptest.NewRecorder()
				row.Raw(&route.Response{ResponseWriter: answer}, request)
				return answer
			}
			answer := ask("")
			body, err := io.ReadAll(decode(answer.Body))
			if err != nil || !bytes.Equal(body, want) || answer.Header().Get("Content-Encoding") != encoding || answer.Header().Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s in %q: %d bytes of %d, %v, %v", row.Path, encoding, len(body), len(want), answer.Header(), err)
			}
			if again := ask(answer.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
				t.Errorf("%s in %q: the same again was answered with %d", row.Path, encoding, again.Code)
			}
		}
	}
}
