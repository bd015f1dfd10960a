package exports

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/export"
	"svc/http/route"
)

// Links makes and verifies the links of files. A link contains the application, the export, its run, the person that
// received it and its end. It carries a code that cannot be made without the key.
type Links struct{ Key []byte }

// fileLink contains the fields of a link.
type fileLink struct {
	app            domain.AppRef
	id, run, until string
	// person is the id of the person that received the link.
	person string
}

// path returns the path of a link to a file.
func (l Links) path(e *export.Export, person string, until time.Time) string {
	link := fileLink{e.App, e.ID, strconv.FormatUint(uint64(e.Run), 10), strconv.FormatInt(until.Unix(), 10), person}
	return fmt.Sprintf("/exports/%s/%s/%s?run=%s&until=%s&for=%s&code=%s", e.App.Org, e.App.App, e.ID, link.run, link.until, person, l.code(link))
}

func (l Links) code(link fileLink) string {
	mac := hmac.New(sha256.New, l.Key)
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n%s", link.app, link.id, link.run, link.until, link.person)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// open returns the fields of a request's link, and whether its code is valid and it has not ended.
func (l Links) open(r *http.Request, now time.Time) (link fileLink, ok bool) {
	query := r.URL.Query()
	link = fileLink{domain.AppRef{Org: r.PathValue("org"), App: r.PathValue("app")}, r.PathValue("id"), query.Get("run"), query.Get("until"), query.Get("for")}
	end, err := strconv.ParseInt(link.until, 10, 64)
	good := hmac.Equal([]byte(query.Get("code")), []byte(l.code(link)))
	return link, good && err == nil && now.Before(time.Unix(end, 0))
}

// Bounds of downloads.
const (
	// maxDownloads bounds the concurrent downloads of a node: each takes a thread of the store.
	maxDownloads = 4
	// downloadTime bounds a download. acceptTime bounds the time in which a client must accept a part of it.
	downloadTime = 6 * time.Hour
	acceptTime   = time.Minute
	downloadPart = 256 << 10
)

// downloads sends files.
type downloads struct {
	Ports
	places chan struct{}
}

// Downloads returns the row of links, which passes no gate.
func Downloads(ports Ports) []route.Route {
	d := &downloads{Ports: ports, places: make(chan struct{}, maxDownloads)}
	return []route.Route{{
		Surface: route.Share, Method: http.MethodGet, Path: "/exports/{org}/{app}/{id}", Operation: "exports.download", Effect: route.Read,
		Summary: "The file of an export, by the link that exports.get answers.", Raw: d.serve,
	}}
}

// errNoFile answers both requests without a valid link and requests for removed files: callers cannot distinguish the
// two.
func errNoFile() error { return domain.NotFound("file") }

func (d *downloads) serve(w *route.Response, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), downloadTime)
	defer cancel()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Robots-Tag", "noindex")
	export, err := d.found(ctx, r, w.Arrival())
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	select {
	case d.places <- struct{}{}:
		defer func() { <-d.places }()
	default:
		w.Refuse(r, &domain.Error{Code: domain.CodeRateLimited, RetryAfter: 10 * time.Second, Message: "Other files are being fetched; come back."}, nil)
		return
	}
	file, err := d.Files.OpenExport(ctx, &export)
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	defer func() { _ = file.Close() }() // The file was only read.
	d.send(w, r, &export, file)
}

// found returns the export of a valid link.
func (d *downloads) found(ctx context.Context, r *http.Request, now time.Time) (export.Export, error) {
	link, good := d.Links.open(r, now)
	if !good {
		return export.Export{}, errNoFile()
	}
	app, grant, err := d.Access.Reads(ctx, link.app, link.person)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return export.Export{}, errNoFile()
	}
	if err != nil {
		return export.Export{}, err
	}
	e, err := d.Exports.Export(ctx, link.app, link.id)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		err = errNoFile()
	case err == nil && (strconv.FormatUint(uint64(e.Run), 10) != link.run || e.Status != export.Ready || !now.Before(e.ExpiresAt()) || !mayFetch(&app, &grant, &e)):
		err = errNoFile()
	}
	return e, err
}

// send sends a file. If reading the file fails, send aborts the transfer, so that the client does not take it for
// complete. It also aborts if the file is withdrawn during the transfer.
func (d *downloads) send(w *route.Response, r *http.Request, e *export.Export, file io.Reader) {
	kinds := map[export.Format]string{export.NDJSON: "application/x-ndjson", export.CSV: "text/csv; charset=utf-8", export.Parquet: "application/vnd.apache.parquet"}
	w.Header().Set("Content-Type", kinds[e.Format])
	name := fmt.Sprintf("%s-%s-%s.%s", e.App.App, e.Kind, e.At.Format("20060102-150405"), e.Format)
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	controller := http.NewResponseController(w)
	buffer := make([]byte, downloadPart)
	checked := d.Now()
	for {
		n, err := io.ReadFull(file, buffer)
		if n > 0 {
			// Writers of tests do not support deadlines; they are never slow.
			_ = controller.SetWriteDeadline(d.Now().Add(acceptTime))
			if _, err := w.Write(buffer[:n]); err != nil {
				return // The client has disconnected.
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if now := d.Now(); err == nil && now.Sub(checked) > time.Second {
			checked = now
			var present export.Export
			if present, err = d.Exports.Export(r.Context(), e.App, e.ID); err == nil && (present.Run != e.Run || present.Status == export.Withdrawn) {
				err = errNoFile()
			}
		}
		if err != nil {
			panic(http.ErrAbortHandler) // The head with status 200 has been sent already.
		}
	}
}
