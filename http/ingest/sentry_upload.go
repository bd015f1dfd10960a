package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // sentry-cli names the pieces of an upload by their SHA-1; nothing is trusted for it
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"svc/domain"
	"svc/domain/issue"
	"svc/http/admission"
	"svc/http/route"
	"svc/http/sentry"
)

// Artifacts stores the uploads of build tools.
type Artifacts interface {
	// PutSourceMaps stores maps of an application; they can be found when it returns nil.
	PutSourceMaps(ctx context.Context, app string, at time.Time, maps []issue.SourceMap) error
	// PutChunk stores a chunk of an upload for a day.
	PutChunk(ctx context.Context, org, sha1 string, at time.Time, content []byte) error
	// ReleaseChunks deletes chunks that were assembled.
	ReleaseChunks(ctx context.Context, org string, sums []string, at time.Time) error
	// ChunkBytes returns the number of bytes of an organization's chunks that were not assembled. SourceMapBytes
	// returns the number of stored bytes of an application.
	ChunkBytes(ctx context.Context, org string) (int64, error)
	SourceMapBytes(ctx context.Context, app string) (int64, error)
	// MissingChunks returns the chunks that are not stored.
	MissingChunks(ctx context.Context, org string, sums []string) ([]string, error)
	// Chunk returns a chunk, nil if it is not stored.
	Chunk(ctx context.Context, org, sha1 string) ([]byte, error)
}

// Applications finds the applications of uploads.
type Applications interface {
	// Get fails with not_found if the application does not exist.
	Get(ctx context.Context, ref domain.AppRef) (domain.Application, error)
}

// Uploads accepts source maps from sentry-cli and the plugins of bundlers: they request the terms of chunks, send the
// missing chunks, and have them assembled.
type Uploads struct {
	Authority    route.Authority
	Applications Applications
	Artifacts    Artifacts
	Now          func() time.Time
	// PublicURL is the address under which build tools reach the service; empty means the host of the request.
	PublicURL string
	// CheckMap returns the problem of a source map; a bundle with such a map is refused. Nil accepts all maps.
	CheckMap func(content []byte) error

	// Admission bounds the node's memory for chunks; nil bounds nothing.
	Admission *admission.Control

	// assembling admits one bundle at a time into memory.
	assembling chan struct{}
}

// NewUploads returns the handlers of uploads.
func NewUploads(authority route.Authority, applications Applications, artifacts Artifacts, now func() time.Time, publicURL string) *Uploads {
	return &Uploads{
		Authority: authority, Applications: applications, Artifacts: artifacts, Now: now,
		PublicURL: strings.TrimSuffix(publicURL, "/"), assembling: make(chan struct{}, 1),
	}
}

// Bounds of an upload.
const (
	chunkBytes       = 8 << 20
	maxUploadBytes   = 32 << 20
	maxChunks        = sentry.MaxBundleBytes/chunkBytes + 1
	maxAssembleBytes = 1 << 20
	// maxPieces bounds the inflated chunks of an organization that are not assembled; they are deleted after a day.
	maxPieces = 4 * sentry.MaxBundleBytes
	// maxMaps bounds the inflated source maps of an application.
	maxMaps = 16 << 30
)

// upload is one request: its organization, its application if it has one, and the note of its audit row.
type upload struct {
	org, app, note string
}

// Routes returns the rows of uploads, under the root, which sentry-cli requires, and under the prefix of the DSN.
func (u *Uploads) Routes() []route.Route {
	var rows []route.Route
	for _, base := range [][2]string{{"", "uploads"}, {"/sentry", "sentry.uploads"}} {
		row := func(method, path, operation, summary string, shape route.Endpoint, serve serveUpload) {
			effect := route.Write
			if method == http.MethodGet {
				effect = route.Read
			}
			rows = append(rows, route.Route{
				Surface: route.Collect, Method: method, Path: base[0] + "/api/0/organizations/{org}/" + path, Operation: base[1] + "." + operation,
				Scope: domain.ScopeWrite, Permission: domain.PermErrorsWrite, Effect: effect, Summary: summary, Handler: shape,
				Codes: []domain.Code{domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeForbidden, domain.CodeNotFound, domain.CodeTooLarge, domain.CodeUnavailable},
				Raw:   func(w *route.Response, r *http.Request) { u.serve(w, r, base[1]+"."+operation, serve) },
			})
		}
		row(http.MethodGet, "chunk-upload", "terms", "Tell build tools how to send pieces.", route.Shape[uploadPath, chunkTerms](), u.terms)
		row(http.MethodPost, "chunk-upload", "chunks", "Take pieces of a bundle, as multipart/form-data.", route.Shape[uploadPath, route.Empty](), u.chunks)
		row(http.MethodPost, "artifactbundle/assemble", "assemble", "Put a bundle of source maps together.", route.Shape[assembleInput, assembled](), u.assemble)
	}
	return rows
}

// serveUpload answers one request.
type serveUpload func(w *route.Response, r *http.Request, up *upload) (any, error)

// serve checks the token of a request, writes the answer, and stores an audit row of a write.
func (u *Uploads) serve(w *route.Response, r *http.Request, operation string, serve serveUpload) {
	up := &upload{org: r.PathValue("org")}
	answer := any(nil)
	grant, err := u.authorize(w, r, up.org)
	if err == nil {
		answer, err = serve(w, r, up)
	} else if domain.CodeOf(err) == domain.CodeNotFound {
		up.org = "" // A foreign caller must not write into the organization's audit.
	}
	if err != nil {
		w.Refuse(r, err, nil)
	} else {
		writeUpload(w, r, answer)
	}
	if r.Method != http.MethodGet && grant.Token.ID != "" && domain.CodeOf(err) != domain.CodeRateLimited {
		w.Audit(r, operation, grant, up.org, up.app, up.note, err)
	}
}

// writeUpload writes an answer without the envelope of the API, which build tools do not know.
func writeUpload(w *route.Response, r *http.Request, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	w.Header()["Content-Type"] = jsonType
	_, _ = w.Write(body) // If this write fails, there is no client to notify.
}

// authorize accepts tokens that may write errors in the organization.
func (u *Uploads) authorize(w *route.Response, r *http.Request, org string) (domain.Grant, error) {
	secret, err := route.AccessToken(r)
	if err != nil {
		return domain.Grant{}, err
	}
	grant, rate, err := u.Authority.Authorize(r.Context(), secret.Reveal(), domain.RateDefault, org)
	w.TellRate(rate)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		return grant, domain.NotFound("organization")
	case err != nil:
		return grant, err
	case !grant.HasScope(domain.ScopeWrite) || !grant.May(domain.PermErrorsWrite):
		return grant, &domain.Error{
			Code: domain.CodeForbidden, Message: "The token lacks the scope write or the permission errors.write.",
			Required: &domain.Required{Scope: domain.ScopeWrite, Permission: domain.PermErrorsWrite},
		}
	}
	return grant, nil
}

func (u *Uploads) terms(_ *route.Response, r *http.Request, _ *upload) (any, error) {
	origin := u.PublicURL
	if origin == "" {
		origin = "http://" + r.Host
	}
	return chunkTerms{
		URL: origin + strings.TrimSuffix(r.URL.Path, "/") + "/", ChunkSize: chunkBytes, ChunksPerRequest: maxUploadBytes / chunkBytes, MaxFileSize: sentry.MaxBundleBytes,
		MaxRequestSize: maxUploadBytes, Concurrency: 4, HashAlgorithm: "sha1", Compression: []string{"gzip"},
		Accept: []string{"artifact_bundles", "artifact_bundles_v2", "release_files", "sources"},
	}, nil
}

// chunks accepts chunks. The name of each must be the hash of its content.
func (u *Uploads) chunks(w *route.Response, r *http.Request, up *upload) (any, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxUploadBytes+1<<20)
	form, err := r.MultipartReader()
	if err != nil {
		return nil, malformed(errors.New("the body is no multipart/form-data"))
	}
	kept, err := u.Artifacts.ChunkBytes(r.Context(), up.org)
	if err != nil {
		return nil, err
	}
	reserved := u.Admission.Reserve("uploads " + up.org)
	defer reserved.Release()
	if err := reserved.ForWork(r.Context(), 2*chunkBytes, false); err != nil { // This covers a chunk as it is read, and as it is passed on.
		return nil, err
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return struct{}{}, nil
		}
		if err != nil {
			return nil, unreadable(err)
		}
		content, err := readChunk(part, part.FormName() == "file_gzip")
		if err != nil {
			return nil, err
		}
		sum := sha1.Sum(content) //nolint:gosec // see the import
		if name := hex.EncodeToString(sum[:]); name != part.FileName() {
			return nil, malformed(fmt.Errorf("the piece %q has the SHA-1 %s", part.FileName(), name))
		}
		if kept += int64(len(content)); kept > maxPieces {
			return nil, tooLarge("The organization's pieces that were not put together are over %d bytes; they are given up a day after they came.", maxPieces)
		}
		if err := u.putNew(r.Context(), up.org, part.FileName(), content); err != nil {
			return nil, err
		}
	}
}

// putNew stores a chunk, unless it is stored already.
func (u *Uploads) putNew(ctx context.Context, org, sum string, content []byte) error {
	missing, err := u.Artifacts.MissingChunks(ctx, org, []string{sum})
	if err != nil || len(missing) == 0 {
		return err
	}
	return u.Artifacts.PutChunk(ctx, org, sum, u.Now(), content)
}

// readChunk reads one chunk within its bound.
func readChunk(part io.Reader, zipped bool) ([]byte, error) {
	if zipped {
		inflated, err := gzip.NewReader(part)
		if err != nil {
			return nil, badEncoding("gzip")
		}
		part = inflated
	}
	content, err := io.ReadAll(io.LimitReader(part, chunkBytes+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if len(content) > chunkBytes {
		return nil, tooLarge("A piece is over %d bytes.", chunkBytes)
	}
	return content, nil
}

// readJSON decodes a body within its bound.
func readJSON(w *route.Response, r *http.Request, limit int64, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return tooLarge("The body is over %d bytes.", limit)
	}
	if err == nil {
		err = domain.DecodeJSON(body, into)
	}
	switch {
	case errors.Is(err, domain.ErrTooDeep):
		return malformed(err)
	case err != nil:
		return malformed(errors.New("the body is not the JSON object that is expected"))
	}
	return nil
}

func unreadable(err error) error {
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return tooLarge("The body is over %d bytes.", maxUploadBytes)
	}
	return malformed(errors.New("the body ended early"))
}

// assemble assembles a bundle and stores its source maps.
func (u *Uploads) assemble(w *route.Response, r *http.Request, up *upload) (any, error) {
	var spec assembleSpec
	if err := readJSON(w, r, maxAssembleBytes, &spec); err != nil {
		return nil, err
	}
	if len(spec.Chunks) == 0 || len(spec.Chunks) > maxChunks || len(spec.Projects) == 0 {
		return nil, malformed(fmt.Errorf("1 to %d chunks and at least one project are needed", maxChunks))
	}
	var apps []string
	for _, slug := range spec.Projects {
		app, err := u.Applications.Get(r.Context(), domain.AppRef{Org: up.org, App: slug})
		if err != nil {
			return nil, err
		}
		apps = append(apps, app.ID)
	}
	if len(spec.Projects) == 1 {
		up.app = spec.Projects[0]
	}
	up.note = "release " + spec.Version + " of " + strings.Join(spec.Projects, ", ")
	missing, err := u.Artifacts.MissingChunks(r.Context(), up.org, spec.Chunks)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return assembled{State: "not_found", MissingChunks: missing}, nil
	}
	select {
	case u.assembling <- struct{}{}:
		defer func() { <-u.assembling }()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if err := u.keepBundle(r.Context(), up.org, apps, spec); err != nil {
		var bad *sentry.Malformed
		if !errors.As(err, &bad) {
			return nil, err
		}
		return assembled{State: "error", MissingChunks: []string{}, Detail: &bad.Reason}, nil
	}
	return assembled{State: "ok", MissingChunks: []string{}}, nil
}

// keepBundle reads the chunks of a bundle and stores its source maps for applications.
func (u *Uploads) keepBundle(ctx context.Context, org string, apps []string, spec assembleSpec) error {
	var whole bytes.Buffer
	for _, sum := range spec.Chunks {
		content, err := u.Artifacts.Chunk(ctx, org, sum)
		if err != nil {
			return err
		}
		whole.Write(content)
	}
	if sum := sha1.Sum(whole.Bytes()); hex.EncodeToString(sum[:]) != spec.Checksum { //nolint:gosec // see the import
		return &sentry.Malformed{Reason: "the pieces do not make the bundle of that checksum"}
	}
	bundle, err := sentry.ParseBundle(whole.Bytes())
	if err != nil {
		return err
	}
	maps := make([]issue.SourceMap, 0, len(bundle.Maps))
	for _, one := range bundle.Maps {
		if err := u.check(&one); err != nil {
			return err
		}
		maps = append(maps, issue.SourceMap{
			DebugID: one.DebugID, URL: one.URL, Release: cmp.Or(spec.Version, bundle.Release), Dist: cmp.Or(spec.Dist, bundle.Dist), Content: one.Content,
		})
	}
	return u.putMaps(ctx, org, apps, maps, spec.Chunks)
}

// putMaps stores the source maps of a bundle, and deletes its chunks.
func (u *Uploads) putMaps(ctx context.Context, org string, apps []string, maps []issue.SourceMap, pieces []string) error {
	var size int64
	for n := range maps {
		size += int64(len(maps[n].Content) * len(maps[n].Keys()))
	}
	for _, app := range apps {
		kept, err := u.Artifacts.SourceMapBytes(ctx, app)
		if err != nil {
			return err
		}
		if kept+size > maxMaps {
			return tooLarge("The application's source maps would be over %d bytes.", int64(maxMaps))
		}
		if err := u.Artifacts.PutSourceMaps(ctx, app, u.Now(), maps); err != nil {
			return err
		}
	}
	return u.Artifacts.ReleaseChunks(ctx, org, pieces, u.Now())
}

// check refuses an unusable map, and names it.
func (u *Uploads) check(one *sentry.SourceMap) error {
	if u.CheckMap == nil {
		return nil
	}
	if err := u.CheckMap(one.Content); err != nil {
		return &sentry.Malformed{Reason: "the source map " + one.Name + " is refused: " + err.Error()}
	}
	return nil
}
