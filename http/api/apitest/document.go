package apitest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// Document loads the OpenAPI document that a handler serves, checks it, and returns it with a
// router of its paths.
func Document(t *testing.T, handler http.Handler) (*openapi3.T, routers.Router) {
	t.Helper()
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/openapi.json", nil))
	doc, err := openapi3.NewLoader().LoadFromData(response.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	doc.Servers = nil
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return doc, router
}

// checked validates every answer of a handler against its document.
type checked struct {
	t       *testing.T
	handler http.Handler
	router  routers.Router
}

func (c checked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Accept") == "text/event-stream" { // The document has no schema of frames, and a stream ends only when its reader does.
		c.handler.ServeHTTP(w, r)
		return
	}
	response := httptest.NewRecorder()
	c.handler.ServeHTTP(response, r)
	for name, values := range response.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(response.Code)
	body := response.Body.Bytes()
	if len(body) > 0 {
		if _, err := w.Write(body); err != nil {
			c.t.Error(err)
		}
	}
	if w.Header().Get("Content-Type") == "application/x-ndjson" { // The document has no schema of lines.
		return
	}
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		return
	}
	err = openapi3filter.ValidateResponse(context.WithoutCancel(r.Context()), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 response.Code, Header: response.Header(), Body: io.NopCloser(strings.NewReader(string(body))),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		c.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
}
