package mailing

import (
	"context"
	_ "embed"
	"encoding/base64"
	htmltemplate "html/template"
	"net/http"
	"strings"

	"svc/domain"
	"svc/http/route"
)

// Recipients counts the actions of recipients, and stores the unsubscribed ones.
type Recipients interface {
	// Opened counts a recipient that opened a message.
	Opened(ctx context.Context, ref domain.AppRef, campaign string, number uint32) error
	// Clicked counts a recipient that followed a link, and returns the target address. It fails with not_found if the
	// link does not exist.
	Clicked(ctx context.Context, ref domain.AppRef, campaign string, number uint32, link int) (string, error)
	// Unsubscribe stops an application from sending to the address of a hash; Subscribe reverses that.
	Unsubscribe(ctx context.Context, ref domain.AppRef, hash, campaign string) error
	Subscribe(ctx context.Context, ref domain.AppRef, hash string) error
}

// Applications reads applications.
type Applications interface {
	// Get fails with not_found if the application does not exist.
	Get(ctx context.Context, ref domain.AppRef) (domain.Application, error)
}

// Pages serves the addresses in messages.
type Pages struct {
	Links        Links
	Recipients   Recipients
	Applications Applications
}

//go:embed unsubscribe.html
var unsubscribeSource string

// pixel is a transparent picture of one pixel.
const pixel = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

// Routes returns the rows of the addresses, which pass no gate: their tokens authorize them.
func Routes(pages Pages) []route.Route {
	p := pages
	shown := htmltemplate.Must(htmltemplate.New("unsubscribe").Parse(unsubscribeSource))
	row := func(method, path, operation, summary string, raw route.RawHandler) route.Route {
		return route.Route{Surface: route.Share, Method: method, Path: path, Operation: operation, Effect: route.Read, Summary: summary, Raw: raw}
	}
	change := func(w *route.Response, r *http.Request) { p.change(w, r, shown) }
	show := func(w *route.Response, r *http.Request) { p.show(w, r, shown) }
	return []route.Route{
		row(http.MethodGet, openPath+"{token}", "campaigns.opened", "The picture in a message of a campaign, which counts the recipient who loads it.", p.open),
		row(http.MethodGet, clickPath+"{token}", "campaigns.clicked", "A link in a message of a campaign, which counts the recipient and leads on.", p.click),
		row(http.MethodGet, unsubscribePath+"{token}", "campaigns.unsubscribe", "The page of an unsubscription; to look at it changes nothing.", show),
		row(http.MethodPost, unsubscribePath+"{token}", "campaigns.unsubscribed", "Unsubscribe, by the page or by the one-click request of a mail program (RFC 8058).", change),
	}
}

// private excludes an answer from caches and indexes.
func private(w *route.Response) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Robots-Tag", "noindex")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

// errNoAddress answers both forged tokens and tokens of deleted objects, so that callers cannot distinguish them.
func errNoAddress() error { return domain.NotFound("page") }

// found reads the token of a request.
func (p Pages) found(r *http.Request, purpose, path string) (token, error) {
	t, ok := p.Links.open(purpose, strings.TrimPrefix(r.URL.Path, path))
	if !ok {
		return t, errNoAddress()
	}
	if _, err := p.Applications.Get(r.Context(), t.ref); err != nil {
		if domain.CodeOf(err) == domain.CodeNotFound {
			err = errNoAddress()
		}
		return t, err
	}
	return t, nil
}

// open counts an opening. The picture is shown even if nothing can be counted.
func (p Pages) open(w *route.Response, r *http.Request) {
	private(w)
	t, err := p.found(r, purposeOpen, openPath)
	if domain.CodeOf(err) == domain.CodeNotFound {
		w.Refuse(r, err, nil)
		return
	}
	if err == nil && r.Method == http.MethodGet {
		_ = p.Recipients.Opened(r.Context(), t.ref, t.campaign, t.number) // The picture is shown even if the count fails.
	}
	picture, _ := base64.StdEncoding.DecodeString(pixel) // The constant is valid base64.
	w.Header().Set("Content-Type", "image/gif")
	_, _ = w.Write(picture)
}

// click counts a click and redirects to the target.
func (p Pages) click(w *route.Response, r *http.Request) {
	private(w)
	t, err := p.found(r, purposeClick, clickPath)
	if err == nil && r.Method != http.MethodGet {
		return // A program checks whether the link exists.
	}
	var address string
	if err == nil {
		address, err = p.Recipients.Clicked(r.Context(), t.ref, t.campaign, t.number, int(t.link))
	}
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	w.Header().Set("Location", domain.ASCIIURL(address))
	w.WriteHeader(http.StatusFound)
}

// state is the state of the page of an unsubscription.
type state string

// The states.
const (
	asked        state = "asked"
	unsubscribed state = "unsubscribed"
	subscribed   state = "subscribed"
)

// show shows the page.
func (p Pages) show(w *route.Response, r *http.Request, page *htmltemplate.Template) {
	private(w)
	if _, err := p.found(r, purposeUnsubscribe, unsubscribePath); err != nil {
		w.Refuse(r, err, nil)
		return
	}
	write(w, page, asked)
}

// bodyBytes bounds the form of an unsubscription.
const bodyBytes = 4 << 10

// change unsubscribes, or reverses that.
func (p Pages) change(w *route.Response, r *http.Request, page *htmltemplate.Template) {
	private(w)
	t, err := p.found(r, purposeUnsubscribe, unsubscribePath)
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyBytes)
	next := unsubscribed
	if r.PostFormValue("action") == "subscribe" {
		next = subscribed
		err = p.Recipients.Subscribe(r.Context(), t.ref, t.hash)
	} else {
		err = p.Recipients.Unsubscribe(r.Context(), t.ref, t.hash, t.campaign)
	}
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	write(w, page, next)
}

func write(w *route.Response, page *htmltemplate.Template, shown state) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	_ = page.Execute(w, shown) // The reader may have disconnected.
}
