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

	"svc"
	"svc/http/route"
)

// Links makes the links of files and knows them again. A link names the application, the export, its run, the person who got
// it and when it ends, and carries a code that nobody makes without the key.
type Links struct{ Key []byte }

// fileLink holds the fields that a link names.
type fileLink struct {
	app            svc.AppRef
	id, run, until string
	// person is the id of the person who got the link.
	person string
}

// path returns the path of a link to a file.
func (l Links) path(e *svc.Export, person string, until time.Time) string {
	link := fileLink{e.App, e.ID, strconv.FormatUint(uint64(e.Run), 10), strconv.FormatInt(until.Unix(), 10), person}
	return fmt.Sprintf("/exports/%s/%s/%s?run=%s&until=%s&for=%s&code=%s", e.App.Org, e.App.App, e.ID, link.run, link.until, person, l.code(link))
}

func (l Links) code(link fileLink) string {
	mac := hmac.New(sha256.New, l.Key)
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n%s", link.app, link.id, link.run, link.until, link.person)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// open returns what the link of a request names, if it was made here and has not ended.
func (l Links) open(r *http.Request, now time.Time) (link fileLink, ok bool) {
	query := r.URL.Query()
	link = fileLink{svc.AppRef{Org: r.PathValue("org"), App: r.PathValue("app")}, r.PathValue("id"), query.Get("run"), query.Get("until"), query.Get("for")}
	end, err := strconv.ParseInt(link.until, 10, 64)
	good := hmac.Equal([]byte(query.Get("code")), []byte(l.code(link)))
	return link, good && err == nil && now.Before(time.Unix(end, 0))
}

// Bounds of downloads.
const (
	// maxDownloads is how many files a node sends at a time: each takes a thread of the store.
	maxDownloads = 4
	// downloadTime bounds a download, and acceptTime how long a client may take to accept a part of it.
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

// errNoFile answers whoever has no good link, and for files that are gone: the two cannot be told apart.
func errNoFile() error { return svc.NotFound("file") }

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
		w.Refuse(r, &svc.Error{Code: svc.CodeRateLimited, RetryAfter: 10 * time.Second, Message: "Other files are being fetched; come back."}, nil)
		return
	}
	file, err := d.Files.OpenExport(ctx, &export)
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	defer func() { _ = file.Close() }() // it was read only
	d.send(w, r, &export, file)
}

// found returns the export of a good link.
func (d *downloads) found(ctx context.Context, r *http.Request, now time.Time) (svc.Export, error) {
	link, good := d.Links.open(r, now)
	if !good {
		return svc.Export{}, errNoFile()
	}
	app, grant, err := d.Access.Reads(ctx, link.app, link.person)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return svc.Export{}, errNoFile()
	}
	if err != nil {
		return svc.Export{}, err
	}
	export, err := d.Exports.Export(ctx, link.app, link.id)
	switch {
	case svc.CodeOf(err) == svc.CodeNotFound:
		err = errNoFile()
	case err == nil && (strconv.FormatUint(uint64(export.Run), 10) != link.run || export.Status != svc.ExportReady || !now.Before(export.ExpiresAt()) || !mayFetch(&app, &grant, &export)):
		err = errNoFile()
	}
	return export, err
}

// send sends a file. A file that breaks off breaks the transfer off, so that nobody takes it for complete. One that is withdrawn
// meanwhile breaks off as well.
func (d *downloads) send(w *route.Response, r *http.Request, export *svc.Export, file io.Reader) {
	kinds := map[svc.ExportFormat]string{svc.ExportNDJSON: "application/x-ndjson", svc.ExportCSV: "text/csv; charset=utf-8", svc.ExportParquet: "application/vnd.apache.parquet"}
	w.Header().Set("Content-Type", kinds[export.Format])
	name := fmt.Sprintf("%s-%s-%s.%s", export.App.App, export.Kind, export.At.Format("20060102-150405"), export.Format)
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	controller := http.NewResponseController(w)
	buffer := make([]byte, downloadPart)
	checked := d.Now()
	for {
		n, err := io.ReadFull(file, buffer)
		if n > 0 {
			// A writer without deadlines, as tests have them, is never slow.
			_ = controller.SetWriteDeadline(d.Now().Add(acceptTime))
			if _, err := w.Write(buffer[:n]); err != nil {
				return // the client has gone
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if now := d.Now(); err == nil && now.Sub(checked) > time.Second {
			checked = now
			var present svc.Export
			if present, err = d.Exports.Export(r.Context(), export.App, export.ID); err == nil && (present.Run != export.Run || present.Status == svc.ExportWithdrawn) {
				err = errNoFile()
			}
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the head of a good answer is sent
		}
	}
}
