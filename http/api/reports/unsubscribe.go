package reports

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"svc/domain"
	"svc/domain/report"
	"svc/http/route"
)

// Links makes and verifies the links by which recipients unsubscribe. A link contains the report and the recipient's
// hash, and a code that cannot be made without the key. It does not expire, because people keep letters for years.
type Links struct{ Key []byte }

// Path returns the path of the link by which a recipient unsubscribes from a report.
func (l Links) Path(app domain.AppRef, r, recipient string) string {
	hash := report.RecipientHash(recipient)
	return fmt.Sprintf("/unsubscribe/%s/%s?%s", app, r, url.Values{"recipient": {hash}, "code": {l.code(app, r, hash)}}.Encode())
}

func (l Links) code(app domain.AppRef, report, hash string) string {
	mac := hmac.New(sha256.New, l.Key)
	fmt.Fprintf(mac, "%s\n%s\n%s", app, report, hash)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

//go:embed unsubscribe.html
var unsubscribePage string

// departures serves the page.
type departures struct {
	reports Reports
	links   Links
	page    *template.Template
}

// Unsubscribe returns the rows of the links, which pass no gate. Opening a link changes nothing, since programs that
// scan mail open it. The button of its page unsubscribes, and so does a mail program that posts to the link (RFC 8058).
func Unsubscribe(ports Ports) ([]route.Route, error) {
	page, err := template.New("unsubscribe").Parse(unsubscribePage)
	if err != nil {
		return nil, fmt.Errorf("reading the page to unsubscribe: %w", err)
	}
	d := &departures{reports: ports.Reports, links: ports.Links, page: page}
	row := func(method, operation, summary string, effect route.Effect, unrecorded string) route.Route {
		return route.Route{Surface: route.Share, Method: method, Path: "/unsubscribe/{org}/{app}/{id}", Operation: operation, Effect: effect, Unrecorded: unrecorded, Summary: summary, Raw: d.serve}
	}
	return []route.Route{
		row(http.MethodGet, "reports.leavePage", "The page by which a recipient leaves a report.", route.Read, ""),
		row(http.MethodPost, "reports.leave", "Take the recipient of a letter out of its report.", route.Write, "a recipient is no member"),
	}, nil
}

// shownPage is the content of the page.
type shownPage struct {
	App, Action string
	Done        bool
}

func (d *departures) serve(w *route.Response, r *http.Request) {
	app, id := domain.AppRef{Org: r.PathValue("org"), App: r.PathValue("app")}, r.PathValue("id")
	query := r.URL.Query()
	hash := query.Get("recipient")
	if !hmac.Equal([]byte(query.Get("code")), []byte(d.links.code(app, id, hash))) {
		w.Refuse(r, domain.NotFound("link"), nil)
		return
	}
	page := shownPage{App: app.App, Action: r.URL.RequestURI(), Done: r.Method == http.MethodPost}
	if page.Done {
		ctx, cancel := context.WithTimeout(r.Context(), leaveTime)
		defer cancel()
		if err := d.reports.Unsubscribe(ctx, app, id, hash); err != nil {
			w.Refuse(r, err, nil)
			return
		}
	}
	var body strings.Builder
	if err := d.page.Execute(&body, page); err != nil {
		w.Refuse(r, err, nil)
		return
	}
	route.PageHead(w.Header(), "text/html; charset=utf-8", "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Robots-Tag", "noindex")
	_, _ = w.Write([]byte(body.String())) // A browser that has disconnected needs no answer.
}
