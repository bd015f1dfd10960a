// Package console serves the page on which a signed-in person registers passkeys and
// decides on what the assistant proposed: a thin layer over the console's routes, which
// hold every rule. The page keeps the session in memory only and shows nothing as markup.
package console

import (
	"embed"
	"net/http"

	plumbing "svc/http"
)

//go:embed assets
var assets embed.FS

// policy lets the page run its own script, speak to its own origin, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Routes returns the rows of the page.
func Routes() []plumbing.Route {
	row := func(path, operation, file, kind string) plumbing.Route {
		return plumbing.Route{
			Surface: plumbing.Share, Method: http.MethodGet, Path: path, Operation: operation, Effect: plumbing.Read,
			Summary: "A part of the page on which people decide.",
			Raw:     func(w http.ResponseWriter, _ *http.Request) { serve(w, file, kind) },
		}
	}
	return []plumbing.Route{
		row("/console", "console.page", "assets/console.html", "text/html; charset=utf-8"),
		row("/console/console.js", "console.script", "assets/console.js", "text/javascript; charset=utf-8"),
		row("/console/console.css", "console.style", "assets/console.css", "text/css; charset=utf-8"),
	}
}

func serve(w http.ResponseWriter, file, kind string) {
	body, err := assets.ReadFile(file)
	if err != nil {
		http.Error(w, "This part of the page is missing.", http.StatusInternalServerError)
		return
	}
	plumbing.PageHead(w.Header(), kind, policy)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(body) // a client that went away needs no answer
}
