package api_test

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

	"svc/http/api/apitest"
)

// document loads the served document and checks it.
func document(t *testing.T, handler http.Handler) (*openapi3.T, routers.Router) {
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
	if r.Header.Get("Accept") == "text/event-stream" { // the document has no schema of frames, and a stream ends with its reader
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

// TestAnswersMatchTheDocument sends the golden suite and holds every answer
// against the schemas.
func TestAnswersMatchTheDocument(t *testing.T) {
	apitest.Run(t, func(t *testing.T) apitest.World {
		world := apitest.NewMemory(noon).Fill(t)
		_, router := document(t, world.Handler)
		world.Handler = checked{t: t, handler: world.Handler, router: router}
		return world
	})
}

// TestDocumentNamesEveryRow also proves that a wrong answer would be noticed.
func TestDocumentNamesEveryRow(t *testing.T) {
	world := apitest.NewMemory(noon).Fill(t)
	doc, router := document(t, world.Handler)
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Responses.Status(401) == nil || operation.Extensions["x-scope"] == nil || operation.Summary == "" {
				t.Errorf("%s %s is not described in full", method, path)
			}
		}
	}
	for name := range doc.Components.Schemas {
		if strings.TrimSpace(name) == "" {
			t.Error("a schema has no name")
		}
	}
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/apps/acme/web", nil)
	route, params, err := router.FindRoute(request)
	if err != nil {
		t.Fatal(err)
	}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, PathParams: params, Route: route},
		Status:                 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"id":7}`)),
	})
	if err == nil {
		t.Error("an answer of the wrong shape passed")
	}
}
