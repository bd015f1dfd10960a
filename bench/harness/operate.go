package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// NewMember creates a member of the first organization and returns a token that acts as the member.
func (s *Server) NewMember(ctx context.Context, email string) (token string, err error) {
	if err := s.Seat(ctx, email, "member"); err != nil {
		return "", err
	}
	return s.operate(ctx, "tokens.mint", map[string]any{"email": email, "name": "bench", "scopes": []string{"read", "write"}})
}

// Seat makes a person a member of the first organization, in a role.
func (s *Server) Seat(ctx context.Context, email, role string) error {
	_, err := s.operate(ctx, "members.put", map[string]any{"org": s.Organization, "email": email, "name": "Bench", "role": role})
	return err
}

// Login opens a console session of a person.
func (s *Server) Login(ctx context.Context, email string) (session string, err error) {
	return s.operate(ctx, "login", map[string]any{"email": email})
}

// consoleTime limits a request of a console session.
const consoleTime = 5 * time.Second

// Console sends a request of a console session and returns the answer, which must have a status. path is relative to
// /console/api/v1.
func (s *Server) Console(ctx context.Context, session, method, path string, body []byte, status int) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.Address+"/console/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+session)
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Timeout: consoleTime}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the console: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // the body is read
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("the console answers %d: %.300s", response.StatusCode, answer)
	}
	return answer, err
}

// SignAsOperator adds the token in the server's data directory to a request to the operator's listener.
func (s *Server) SignAsOperator(request *http.Request) error {
	token, err := os.ReadFile(filepath.Join(s.DataDir(), "operator.token"))
	if err != nil {
		return fmt.Errorf("reading the operator's token: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return nil
}

// Memory is the memory use of a server in bytes, measured after a garbage collection.
type Memory struct {
	// Live is the heap of Go and its stacks.
	Live float64
	// Anonymous is the process's own memory; Held is Anonymous without the memory that Go's runtime holds for reuse.
	Anonymous, Held float64
}

// collections is the number of garbage collections per figure: pools release their contents in the second one.
const collections = 3

// Weigh makes the server collect its garbage and returns its memory use.
func (s *Server) Weigh(ctx context.Context) (m Memory, err error) {
	for range collections {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Admin+"/debug/pprof/heap?gc=1", http.NoBody)
		if err != nil {
			return m, fmt.Errorf("making a request: %w", err)
		}
		if err := s.SignAsOperator(request); err != nil {
			return m, err
		}
		response, err := s.client.Do(request)
		if err != nil {
			return m, fmt.Errorf("collecting garbage: %w", err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			return m, fmt.Errorf("collecting garbage: %d, %w", response.StatusCode, err)
		}
	}
	metrics, err := s.Scrape(ctx)
	if err != nil {
		return m, err
	}
	m.Live = metrics["go_memstats_heap_alloc_bytes"] + metrics["go_memstats_stack_inuse_bytes"]
	_, anonymous, err := ProcessRSS(s.PID())
	m.Anonymous = float64(anonymous)
	m.Held = m.Anonymous - (metrics["go_memstats_heap_idle_bytes"] - metrics["go_memstats_heap_released_bytes"])
	return m, err
}

// Profile returns a processor profile of the server over some seconds.
func (s *Server) Profile(ctx context.Context, seconds int) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.Admin, seconds), http.NoBody)
	if err != nil {
		return nil, err
	}
	if err := s.SignAsOperator(request); err != nil {
		return nil, err
	}
	response, err := (&http.Client{}).Do(request) // the context limits it
	if err != nil {
		return nil, fmt.Errorf("profiling: %w", err)
	}
	defer response.Body.Close()
	profile, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("profiling: status %d: %.300s", response.StatusCode, profile)
	}
	return profile, err
}

// operate sends a command to the operator's listener and returns the secret in its answer.
func (s *Server) operate(ctx context.Context, command string, body any) (secret string, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Admin+"/admin/v1/"+command, bytes.NewReader(encoded))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	if err := s.SignAsOperator(request); err != nil {
		return "", err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(response.Body) // the status is sufficient
		return "", fmt.Errorf("%s: %d %s", command, response.StatusCode, text)
	}
	var answer struct {
		Secret string `json:"secret"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	return answer.Secret, nil
}
