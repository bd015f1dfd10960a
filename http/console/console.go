// Package console serves the page on which a signed-in person registers passkeys and decides on the
// assistant's proposals: a thin layer over the console's routes, which hold every rule. The page
// keeps the session in memory only and shows no text as markup.
package console

import (
	"embed"
	"net/http"

	"svc/http/route"
)

//go:embed assets
var assets embed.FS

// policy lets the page run its own script, speak to its own origin, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Routes returns the rows of the page.
func Routes() []route.Route {
	row := func(path, operation, file, kind string) route.Route {
		return route.Route{
			Surface: route.Share, Method: http.MethodGet, Path: path, Operation: operation, Effect: route.Read,
			Summary: "A part of the page on which people decide.",
			Raw:     func(w *route.Response, _ *http.Request) { serve(w, file, kind) },
		}
	}
	return []route.Route{
		row("/console", "console.page", "assets/console.html", "text/html; charset=utf-8"),
		row("/console/console.js", "console.script", "assets/console.js", "text/javascript; charset=utf-8"),
		row("/console/console.css", "console.style", "assets/console.css", "text/css; charset=utf-8"),
	}
}

func serve(w *route.Response, file, kind string) {
	body, err := assets.ReadFile(file)
	if err != nil {
		http.Error(w, "This part of the page is missing.", http.StatusInternalServerError)
		return
	}
	route.PageHead(w.Header(), kind, policy)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(body) // a client that went away needs no answer
}
