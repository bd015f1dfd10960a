package main

import (
	"context"
	"fmt"
	"sync"

	"svc/bench/harness"
)

// questionsEach is the number of questions that a member may ask per hour.
const questionsEach = 30

// seats creates members, because each may ask only a limited number of questions.
type seats struct {
	server *harness.Server

	mu      sync.Mutex
	members int
	left    int
	token   string
}

// fill creates as many members as the questions need, so that this costs nothing while they are asked.
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
	if s.left == 0 {
		token, err := s.server.NewMember(ctx, fmt.Sprintf("bench%d@acme.example", s.members))
		if err != nil {
			return "", err
		}
		s.members++
		s.token, s.left = token, questionsEach
	}
	s.left--
	return s.token, nil
}
