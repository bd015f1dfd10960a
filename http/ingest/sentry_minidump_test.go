package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/occurrence"
	"svc/http/route"
	"svc/protos"
)

// crashesOf stores the titles of the produced errors.
type crashesOf struct{ titles []string }

func (l *crashesOf) Produce(_ context.Context, parts []event.Part) error {
	for _, part := range parts {
		var record protos.Record
		if err := record.UnmarshalVTUnsafe(append([]byte(nil), part.Payload...)); err != nil {
			return err
		}
		for _, o := range record.Occurrences {
			l.titles = append(l.titles, occurrence.IssueTitle(o.Name, o.Message)+" of "+o.Release)
		}
	}
	return nil
}

// crashDump returns the smallest minidump of a crash: an exception of Linux, and nothing else.
func crashDump() []byte {
	dump := make([]byte, 32+12+168)
	copy(dump, "MDMP")
	for at, value := range map[int]uint32{8: 1, 12: 32, 32: 6, 36: 168, 40: 44, 44: 7, 52: 11, 56: 1} {
		binary.LittleEndian.PutUint32(dump[at:], value)
	}
	return dump
}

// TestMinidumpsAreIssues sends a minidump in a form, alone, and in envelopes with an event and without one.
func TestMinidumpsAreIssues(t *testing.T) {
	t.Parallel()
	form := func(field string, content []byte) (string, string) {
		var body bytes.Buffer
		writer := multipart.NewWriter(&body)
		_ = writer.WriteField("sentry[release]", "shop@1")
		part, err := writer.CreateFormFile(field, "a.dmp")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(content)
		_ = writer.Close()
		return body.String(), writer.FormDataContentType()
	}
	dump := string(crashDump())
	attached := fmt.Sprintf("{\"type\":\"attachment\",\"attachment_type\":\"event.minidump\",\"filename\":\"a.dmp\",\"length\":%d}\n%s\n", len(dump), dump)
	const title = "SIGSEGV: Native crash: SEGV_MAPERR at 0x0 of "
	upload, uploadType := form("upload_file_minidump", []byte(dump))
	other, otherType := form("upload_file_minidump", []byte("PK"))
	none, noneType := form("notes", []byte("PK"))
	for name, tc := range map[string]struct {
		path, body, media string
		status            int
		want              string
	}{
		"C3 a form":                     {"minidump", upload, uploadType, 200, title + "shop@1"},
		"C3 an envelope":                {"envelope", "{}\n{\"type\":\"event\"}\n{\"release\":\"shop@2\"}\n" + attached, "", 200, title + "shop@2"},
		"the attachment first":          {"envelope", "{}\n" + attached + "{\"type\":\"event\"}\n{\"release\":\"shop@2\"}\n", "", 200, title + "shop@2"},
		"an envelope without an event":  {"envelope", "{}\n" + attached, "", 200, title},
		"alone":                         {"minidump", dump, "application/octet-stream", 200, title},
		"a form with another file":      {"minidump", other, otherType, 400, ""},
		"a form without a minidump":     {"minidump", none, noneType, 400, ""},
		"a body of another kind":        {"minidump", "hello", "text/plain", 400, ""},
		"a form that ends too early":    {"minidump", upload[:len(upload)/2], uploadType, 400, ""},
		"an envelope with another file": {"envelope", "{}\n{\"type\":\"event\"}\n{\"message\":\"m\",\"release\":\"r\"}\n{\"type\":\"attachment\",\"length\":1}\nx\n", "", 200, "Message: m of r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &crashesOf{}
			c := testCollect(&logOf{})
			c.Log = log
			environment := domain.Environment{Number: 7}
			c.Collectors = collectorsOf{domain.HashSecret("public"): {Kind: domain.KeyPublic, KeyID: "k", Environment: environment, Modules: []domain.Module{domain.ModuleErrors}, Origins: []string{"*"}, RetentionDays: 365}}
			s := &Sentry{Collect: c, Spool: spoolOf{}, Metrics: NewSentryMetrics(prometheus.NewRegistry()), Limiter: &ErrorLimiter{PerMinute: 2}}
			handler, err := route.New(route.Config{
				Routes: s.Routes(), Authority: struct{ route.Authority }{}, Applications: struct{ route.Applications }{},
				Cursors: domain.NewCursors([]byte("minidumps")), Now: collectNoon,
			})
			if err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequest(http.MethodPost, "/sentry/api/"+environment.IngestID()+"/"+tc.path+"/?sentry_key=public", bytes.NewReader([]byte(tc.body)))
			request.Header.Set("Content-Type", tc.media)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			got := fmt.Sprint(log.titles)
			if tc.want != "" {
				tc.want = "[" + tc.want + "]"
			} else {
				tc.want = "[]"
			}
			if answer.Code != tc.status || got != tc.want {
				t.Errorf("%d %s: %s, want %d %s", answer.Code, answer.Body, got, tc.status, tc.want)
			}
		})
	}
}
