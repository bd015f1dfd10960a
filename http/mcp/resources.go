package mcp

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"svc/domain"
)

// docsScheme begins the addresses of the documentation's pages.
const docsScheme = "svc://docs/"

const markdown = "text/markdown"

// toolPage is the route that reads a page.
const toolPage = "docs_get"

// listResources lists all pages of the documentation at once.
func (s *Server) listResources() *sdk.ListResourcesResult {
	result := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: private()}
	pages := s.config.Docs.Pages()
	for i := range pages {
		page := &pages[i]
		result.Resources = append(result.Resources, &sdk.Resource{
			URI: docsScheme + page.Slug, Name: page.Slug, Title: page.Title, MIMEType: markdown, Size: int64(len(page.Markdown)),
		})
	}
	return result
}

// pageTemplate is the form of the pages' addresses.
func pageTemplate() *sdk.ResourceTemplate {
	return &sdk.ResourceTemplate{
		URITemplate: docsScheme + "{+slug}", Name: "docs", Title: "Documentation", MIMEType: markdown,
		Description: "A page of the documentation: index is the overview, reference the routes, errors the codes.",
	}
}

// readResource reads a page through its route, with the caller's token.
func (s *Server) readResource(ctx context.Context, who *caller, uri string) (*sdk.ReadResourceResult, error) {
	slug, ours := strings.CutPrefix(uri, docsScheme)
	if !ours || slug == "" {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	input, err := json.Marshal(map[string]string{"slug": slug})
	if err != nil {
		return nil, err
	}
	outcome, err := s.config.Tools.Execute(ctx, who.secret, domain.AppRef{}, toolPage, input)
	if code := domain.CodeOf(err); err != nil && code != domain.CodeInvalidRequest {
		return nil, err
	}
	var answered struct {
		Markdown string      `json:"markdown"`
		Code     domain.Code `json:"code"`
		Detail   string      `json:"detail"`
	}
	if err != nil || json.Unmarshal(outcome.Body, &answered) != nil || answered.Code == domain.CodeNotFound {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if !outcome.OK() {
		return nil, domain.Errorf(answered.Code, "%s", answered.Detail)
	}
	return &sdk.ReadResourceResult{
		Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: markdown, Text: answered.Markdown}},
	}, nil
}
