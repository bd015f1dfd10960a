package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// answerBytes limits one answer, requestTime one request.
const (
	answerBytes = 64 << 20
	requestTime = 60 * time.Second
)

// Server is the server that is queried.
type Server struct {
	// Address is host:port, Token an access token with all rights in the organization.
	Address, Organization, Token string

	client *http.Client
}

// NewServer returns a client of a server.
func NewServer(address, organization, token string) *Server {
	return &Server{Address: address, Organization: organization, Token: token, client: &http.Client{Timeout: requestTime}}
}

// do sends a request below /api/v1 and decodes the answer, with any status.
func (s *Server) do(ctx context.Context, method, path, token string, body any) (status int, answer map[string]any, err error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, fmt.Errorf("encoding a body: %w", err)
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.Address+"/api/v1"+path, content)
	if err != nil {
		return 0, nil, fmt.Errorf("making the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("asking: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytes))
	if err != nil {
		return 0, nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(text) == 0 {
		return response.StatusCode, nil, nil
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, nil, fmt.Errorf("decoding the answer of %s %s: %w", method, path, err)
	}
	return response.StatusCode, answer, nil
}

// change sends a body that must be accepted, and decodes the answer into a value.
func (s *Server) change(ctx context.Context, method, path, token string, body, into any) error {
	status, answer, err := s.do(ctx, method, path, token, body)
	if err != nil {
		return err
	}
	if status < 200 || status > 299 {
		return fmt.Errorf("%s %s: status %d: %v", method, path, status, answer)
	}
	return convert(answer, into)
}

// convert copies a decoded answer into a typed value.
func convert(answer, into any) error {
	if into == nil {
		return nil
	}
	text, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// read asks a question of an application.
func (s *Server) read(ctx context.Context, app, path string, query url.Values) (int, map[string]any, error) {
	return s.do(ctx, http.MethodGet, "/apps/"+s.Organization+"/"+app+path+"?"+query.Encode(), s.Token, nil)
}
