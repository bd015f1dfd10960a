package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"svc/bench/harness"
)

// questionsEach is how many questions a member may ask in an hour.
const questionsEach = 30

// seats seats members, for each may ask so many questions only.
type seats struct {
	server *harness.Server
	client *http.Client

	mu      sync.Mutex
	members int
	left    int
	token   string
}

// fill seats as many members as so many questions need, so that this costs nothing while
// they are asked.
func (s *seats) fill(ctx context.Context, questions int) ([]string, error) {
	var tokens []string
	for range questions {
		token, err := s.take(ctx)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

// take returns the token of a member for one question.
func (s *seats) take(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left > 0 {
		s.left--
		return s.token, nil
	}
	s.members++
	email := fmt.Sprintf("bench%d@acme.example", s.members)
	if _, err := s.operate(ctx, "members.put", map[string]any{"org": s.server.Organization, "email": email, "name": "Bench", "role": "member"}); err != nil {
		return "", err
	}
	minted, err := s.operate(ctx, "tokens.mint", map[string]any{"email": email, "name": "bench", "scopes": []string{"read", "write"}})
	if err != nil {
		return "", err
	}
	s.token, s.left = minted.Secret, questionsEach-1
	return s.token, nil
}

type minted struct {
	Secret string `json:"secret"`
}

// operate gives the operator's listener a command.
func (s *seats) operate(ctx context.Context, command string, body any) (answer minted, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return answer, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.server.Admin+"/admin/v1/"+command, bytes.NewReader(encoded))
	if err != nil {
		return answer, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return answer, fmt.Errorf("%s: %w", command, err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(response.Body) // the status says enough
		return answer, fmt.Errorf("%s: %d %s", command, response.StatusCode, text)
	}
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}
