package share

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/share"
	"svc/http/route"
)

// Shares finds the published pages.
type Shares interface {
	// Share returns the page of a link (a share's id, or org/app), nil if no page is published there. It does no I/O,
	// and returns the same pointer until the page or its application changes.
	Share(link string) *share.PublicShare
}

// Config holds the parts of Pages. All but Logger and Current are required.
type Config struct {
	Shares Shares
	// Current reports whether the node's copy of the pages is current; nil means that it always is.
	Current func() bool
	Traffic Traffic
	Now     func() time.Time
	Logger  *slog.Logger
}

// Pages serves the public pages.
type Pages struct {
	shares Shares
	// current reports whether the node's copy of the pages is current.
	current func() bool
	report  reporter
	now     func() time.Time
	log     *slog.Logger
	cache   *cache
	paint   *painter
}

// New reads the templates; it does no other I/O.
func New(config Config) (*Pages, error) {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Current == nil {
		config.Current = func() bool { return true }
	}
	paint, err := newPainter()
	if err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	return &Pages{
		shares: config.Shares, current: config.Current, report: reporter{config.Traffic}, now: config.Now, log: config.Logger,
		cache: newCache(config.Now), paint: paint,
	}, nil
}

// Routes returns the rows of the public pages. A page is found under its id. It is also found under the slugs of
// organization and application, if its owner retains that link.
func (p *Pages) Routes() []route.Route {
	row := func(path, operation, summary string, embed bool) route.Route {
		return route.Route{
			Surface: route.Share, Method: http.MethodGet, Path: path, Operation: operation, Effect: route.Read, Summary: summary,
			Raw: func(w *route.Response, r *http.Request) { p.serve(w, r, embed) },
		}
	}
	return []route.Route{
		row("/s/{id}", "share.page", "The public page of an application.", false),
		row("/s/{org}/{app}", "share.legacyPage", "The public page under an earlier link.", false),
		row("/embed/{id}", "share.embed", "The public page for frames of other sites.", true),
		row("/embed/{org}/{app}", "share.legacyEmbed", "The public page for frames under an earlier link.", true),
	}
}

// linkOf returns the link in the path, "" if no page can have that name.
func linkOf(r *http.Request) string {
	if org := r.PathValue("org"); org != "" {
		return domain.AppRef{Org: org, App: r.PathValue("app")}.String()
	}
	id := r.PathValue("id")
	if len(id) != 2*share.IDBytes || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}

// readable returns the page of a link if it is public now.
func (p *Pages) readable(link string) *share.PublicShare {
	if link == "" {
		return nil
	}
	public := p.shares.Share(link)
	if public == nil || !public.App.Has(domain.ModuleAnalytics) {
		return nil
	}
	return public
}

// serve answers one request. It checks whether the page may be read before it uses the cache, and again after the
// rendering, which may take a while. If the page has changed in between, it serves the request once more.
func (p *Pages) serve(w *route.Response, r *http.Request, embed bool) {
	p.writeHead(w.Header(), embed)
	link := linkOf(r)
	if !p.current() {
		w.Header().Set("Retry-After", retryAfter)
		p.refuse(w, http.StatusServiceUnavailable)
		return
	}
	public := p.readable(link)
	if public == nil {
		p.refuse(w, http.StatusNotFound)
		return
	}
	body, err := p.body(r, public, basePath(embed, link), embed)
	if p.readable(link) != public {
		p.serve(w, r, embed)
		return
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.send(w, r, body)
}

// body returns the requested page, from the cache or newly rendered.
func (p *Pages) body(r *http.Request, public *share.PublicShare, base string, embed bool) ([]byte, error) {
	seen := parseView(r.URL.Query(), &public.Share)
	key := fmt.Sprintf("%s %d %d %s?%s", public.Share.ID, public.App.Revision, public.Share.Revision, base, seen.query())
	return p.cache.get(r.Context(), key, func(ctx context.Context) ([]byte, error) {
		return p.render(ctx, *public, seen, base, embed)
	})
}

func basePath(embed bool, link string) string {
	if embed {
		return "/embed/" + link
	}
	return "/s/" + link
}

// render gathers the data of a view and renders it, compressed.
func (p *Pages) render(ctx context.Context, public share.PublicShare, seen view, base string, embed bool) ([]byte, error) {
	found, err := p.report.gather(ctx, public, seen, p.now())
	if err != nil {
		return nil, err
	}
	return p.paint.page(found.page(base, embed))
}

// writeHead sets the headers of every answer. Browsers and proxies must not store anything, so that a disabled page
// disappears for them too.
func (p *Pages) writeHead(head http.Header, embed bool) {
	ancestors := "'none'"
	if embed {
		ancestors = "*"
	} else {
		head.Set("X-Frame-Options", "DENY")
	}
	route.PageHead(head, "text/html; charset=utf-8", p.paint.policy+"; frame-ancestors "+ancestors)
	head.Set("Cache-Control", "no-store")
	head.Set("X-Robots-Tag", "noindex")
	head.Set("Vary", "Accept-Encoding")
}

// refuse answers with the page of a status. A page that never existed and a disabled page get the same answer.
func (p *Pages) refuse(w *route.Response, status int) {
	body := p.paint.refusals[status]
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// retryAfter is the Retry-After of answers to readers, in seconds.
const retryAfter = "5"

// fail answers for a page that could not be rendered.
func (p *Pages) fail(w *route.Response, r *http.Request, err error) {
	if r.Context().Err() == nil {
		p.log.LogAttrs(r.Context(), slog.LevelWarn, "making a public page failed",
			slog.String("request", w.RequestID()), slog.String("error", err.Error()))
	}
	w.Header().Set("Retry-After", retryAfter)
	p.refuse(w, http.StatusServiceUnavailable)
}

// send writes a compressed page, inflated for clients that do not accept gzip.
func (p *Pages) send(w *route.Response, r *http.Request, body []byte) {
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		w.Header().Set("Content-Encoding", "gzip")
	} else {
		plain, err := inflate(body)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		body = plain
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body)
}

// acceptsGzip reports whether an Accept-Encoding header names gzip with any weight
// but zero.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			quality, err := strconv.ParseFloat(strings.TrimPrefix(weight, "q="), 64)
			return err != nil || quality > 0
		}
	}
	return false
}

func inflate(body []byte) ([]byte, error) {
	reader, err := gzip.NewReader(strings.NewReader(string(body)))
	if err != nil {
		return nil, fmt.Errorf("inflating the page: %w", err)
	}
	plain, err := io.ReadAll(reader)
	if err = errors.Join(err, reader.Close()); err != nil {
		return nil, fmt.Errorf("inflating the page: %w", err)
	}
	return plain, nil
}
