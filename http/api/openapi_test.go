package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"

	"svc/http/api/apitest"
)

// TestDocumentNamesEveryRow also proves that the test detects a wrong answer.
func TestDocumentNamesEveryRow(t *testing.T) {
	world := apitest.NewMemory(noon).Fill(t)
	doc, router := apitest.Document(t, world.Handler)
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
