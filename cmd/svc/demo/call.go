package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// refusal is an answer other than 2xx.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("the server answered %d: %s", r.status, r.text) }

// conflicts reports whether a call was refused because its effect already exists, from an interrupted demo. Equal goals
// are refused with 400.
func conflicts(err error) bool {
	refused, ok := errors.AsType[*refusal](err)
	return ok && (refused.status == http.StatusConflict || refused.status == http.StatusBadRequest && strings.Contains(refused.text, "duplicate"))
}

// answerTime limits the wait for an answer.
const answerTime = 30 * time.Second

// call sends one request and returns the answer. It retries if the server asks it to wait.
func (s *sender) call(ctx context.Context, method, path, bearer string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	client := &http.Client{Timeout: answerTime}
	for {
		request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(encoded))
		if err != nil {
			return nil, fmt.Errorf("addressing the server: %w", err)
		}
		if bearer != "" {
			request.Header.Set("Authorization", "Bearer "+bearer)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			return nil, fmt.Errorf("asking the server: %w", err)
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
		if response.StatusCode/100 == 2 {
			return answer, nil
		}
		wait, _ := strconv.Atoi(response.Header.Get("Retry-After")) // an answer without the header is final
		if wait == 0 || response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
			return nil, &refusal{response.StatusCode, strings.TrimSpace(string(answer))}
		}
		select {
		case <-time.After(time.Duration(wait) * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
