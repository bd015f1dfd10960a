package ingest_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/issue"
	"svc/domain/share"
	"svc/http/ingest"
	"svc/http/route"
)

// depot is an organization with one application, a member's token, and the uploads.
type depot struct {
	chunks map[string][]byte
	maps   map[string][]issue.SourceMap
	audit  []domain.AuditRow
	// elsewhere and mapBytes are the bytes that are stored already.
	elsewhere, mapBytes int64
}

// tokenOf returns an access token for a name in a test.
func tokenOf(name string) string {
	random := make([]byte, 32)
	copy(random, name)
	return domain.MintSecret(domain.TokenPersonal.Prefix(), random).Reveal()
}

func (d *depot) Authorize(_ context.Context, secret string, _ domain.RateClass, org string) (domain.Grant, domain.RateState, error) {
	grant := domain.Grant{
		Token:       domain.Token{ID: "tok_1", Kind: domain.TokenPersonal, User: &domain.User{ID: "usr_1"}, Scopes: []domain.Scope{domain.ScopeRead, domain.ScopeWrite}},
		Permissions: domain.EffectivePermissions(domain.RoleMember, domain.Scopes()),
	}
	switch {
	case secret == tokenOf("reader"):
		grant.Token.Scopes = []domain.Scope{domain.ScopeRead}
	case secret != tokenOf("writer"):
		return domain.Grant{}, domain.RateState{}, domain.Errorf(domain.CodeUnauthorized, "unknown")
	case org != "acme":
		return grant, domain.RateState{}, domain.NotFound("organization")
	}
	return grant, domain.RateState{Class: domain.RateDefault, Quota: 600, Window: time.Minute, Remaining: 599, Reset: time.Second}, nil
}

func (d *depot) Get(_ context.Context, ref domain.AppRef) (domain.Application, error) {
	if ref.App != "web" {
		return domain.Application{}, domain.NotFound("application")
	}
	return domain.Application{ID: "app_1"}, nil
}

func (d *depot) Read(ctx context.Context, ref domain.AppRef, _ share.AppPart) (domain.Application, share.AppParts, error) {
	app, err := d.Get(ctx, ref)
	return app, share.AppParts{}, err
}

func (d *depot) Append(_ context.Context, row domain.AuditRow) error {
	d.audit = append(d.audit, row)
	return nil
}

func (d *depot) PutSourceMaps(_ context.Context, app string, _ time.Time, maps []issue.SourceMap) error {
	d.maps[app] = append(d.maps[app], maps...)
	return nil
}

func (d *depot) PutChunk(_ context.Context, org, sum string, _ time.Time, content []byte) error {
	d.chunks[org+sum] = content
	return nil
}

func (d *depot) ReleaseChunks(_ context.Context, org string, sums []string, _ time.Time) error {
	for _, sum := range sums {
		delete(d.chunks, org+sum)
	}
	return nil
}

func (d *depot) ChunkBytes(_ context.Context, org string) (sum int64, _ error) {
	for name, content := range d.chunks {
		if strings.HasPrefix(name, org) {
			sum += int64(len(content))
		}
	}
	return sum + d.elsewhere, nil
}

func (d *depot) SourceMapBytes(context.Context, string) (int64, error) { return d.mapBytes, nil }

func (d *depot) MissingChunks(_ context.Context, org string, sums []string) ([]string, error) {
	return slices.DeleteFunc(slices.Clone(sums), func(sum string) bool { return d.chunks[org+sum] != nil }), nil
}

func (d *depot) Chunk(_ context.Context, org, sum string) ([]byte, error) {
	return d.chunks[org+sum], nil
}

// TestUploadsLeaveAuditRows uploads a bundle and is refused, and checks every audit row for the data that a reader
// needs.
func TestUploadsLeaveAuditRows(t *testing.T) {
	bundle, err := os.ReadFile("../../cmd/svc/testdata/sourcemaps/first.bundle")
	if err != nil {
		t.Fatal(err)
	}
	hash := sha1.Sum(bundle)
	sum := hex.EncodeToString(hash[:])
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	d := &depot{chunks: map[string][]byte{}, maps: map[string][]issue.SourceMap{}}
	now := func() time.Time { return noon }
	handler, err := route.New(route.Config{
		Routes: ingest.NewUploads(d, d, d, now, "").Routes(), Authority: d, Applications: d, Auditor: d,
		Cursors: domain.NewCursors([]byte("k")), Now: now, NewID: func(time.Time) string { return "ID" },
	})
	if err != nil {
		t.Fatal(err)
	}
	pieces := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + sum + "\"\r\n\r\n" + string(bundle) + "\r\n--b--\r\n"
	spec := func(project string) string {
		return `{"checksum":"` + sum + `","chunks":["` + sum + `"],"projects":["` + project + `"],"version":"shop@1"}`
	}
	row := domain.AuditRow{
		At: noon, Org: "acme", RequestID: "req_ID", Method: "POST", Status: 200, TokenID: "tok_1", TokenKind: domain.TokenPersonal, UserID: "usr_1",
	}
	for _, c := range []struct {
		method, secret, path, body string
		status                     int
		app, detail                string
	}{
		{"GET", "writer", "chunk-upload", "", 200, "", ""},
		{"POST", "nobody", "chunk-upload", pieces, 401, "", ""},
		{"POST", "reader", "chunk-upload", pieces, 403, "", "forbidden"},
		{"POST", "writer", "artifactbundle/assemble", spec("moon"), 404, "", "not_found"},
		{"POST", "writer", "artifactbundle/assemble", spec("web"), 200, "web", "release shop@1 of web"},
		{"POST", "writer", "chunk-upload", pieces, 200, "", ""},
		{"POST", "writer", "chunk-upload", pieces[:len(pieces)-8], 400, "", "invalid_request"},
		{"POST", "writer", "artifactbundle/assemble", spec("web"), 200, "web", "release shop@1 of web"},
	} {
		d.audit = nil
		request := httptest.NewRequestWithContext(t.Context(), c.method, "/sentry/api/0/organizations/acme/"+c.path, strings.NewReader(c.body))
		request.Header.Set("Authorization", "Bearer "+tokenOf(c.secret))
		request.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if response.Code != c.status {
			t.Fatalf("%s %s: %d %s", c.method, c.path, response.Code, response.Body)
		}
		if told := response.Header().Get("RateLimit"); c.secret == "writer" && told != `"default";r=599;t=1` {
			t.Errorf("%s %s tells the limit %q", c.method, c.path, told)
		}
		var want []domain.AuditRow
		if c.method == "POST" && c.status != 401 {
			row.Path, row.Status, row.App, row.Detail = request.URL.Path, c.status, c.app, c.detail
			row.Operation = map[bool]string{true: "sentry.uploads.chunks", false: "sentry.uploads.assemble"}[c.path == "chunk-upload"]
			want = []domain.AuditRow{row}
		}
		if !slices.Equal(d.audit, want) {
			t.Errorf("%s %s: the audit has\n%+v, want\n%+v", c.method, c.path, d.audit, want)
		}
	}
	if len(d.maps["app_1"]) == 0 {
		t.Error("no source map was kept")
	}
}

// TestUploadsAreBounded expects that chunks and maps beyond the bounds of an organization and an application are
// refused. It also expects that a chunk is stored once, and that assembled chunks are deleted.
func TestUploadsAreBounded(t *testing.T) {
	bundle, err := os.ReadFile("../../cmd/svc/testdata/sourcemaps/first.bundle")
	if err != nil {
		t.Fatal(err)
	}
	hash := sha1.Sum(bundle)
	sum := hex.EncodeToString(hash[:])
	d := &depot{chunks: map[string][]byte{}, maps: map[string][]issue.SourceMap{}}
	handler, err := route.New(route.Config{
		Routes: ingest.NewUploads(d, d, d, time.Now, "").Routes(), Authority: d, Applications: d, Auditor: d,
		Cursors: domain.NewCursors([]byte("k")), Now: time.Now, NewID: func(time.Time) string { return "ID" },
	})
	if err != nil {
		t.Fatal(err)
	}
	piece := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + sum + "\"\r\n\r\n" + string(bundle) + "\r\n--b--\r\n"
	spec := `{"checksum":"` + sum + `","chunks":["` + sum + `"],"projects":["web"],"version":"shop@1"}`
	call := func(path, body string, status int, part string) {
		t.Helper()
		request := httptest.NewRequestWithContext(t.Context(), "POST", "/api/0/organizations/acme/"+path, strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+tokenOf("writer"))
		request.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if response.Code != status || !strings.Contains(response.Body.String(), part) {
			t.Fatalf("%s: %d %s", path, response.Code, response.Body)
		}
	}
	d.elsewhere = 1<<30 - int64(len(bundle)) + 1
	call("chunk-upload", piece, 413, "pieces")
	d.elsewhere--
	call("chunk-upload", piece, 200, "")
	d.mapBytes = 16<<30 - 1
	call("artifactbundle/assemble", spec, 413, "source maps")
	d.mapBytes = 0
	call("artifactbundle/assemble", spec, 200, `"ok"`)
	call("artifactbundle/assemble", spec, 200, `"not_found"`)
	if len(d.chunks) != 0 || len(d.maps["app_1"]) == 0 {
		t.Errorf("%d pieces and %d maps are kept", len(d.chunks), len(d.maps["app_1"]))
	}
}
