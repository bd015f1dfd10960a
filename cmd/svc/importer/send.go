package importer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/ingest"
)

const (
	// importRequestTime limits one request. The server itself answers 503 if its log does not acknowledge within 10 s.
	importRequestTime = 30 * time.Second
	// importPatience is how long a batch is retried before the import fails.
	importPatience = time.Minute
	// firstPause and longestPause limit the wait before a retry if the server names none.
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
	// maxAnswerBytes limits the part of an answer that is read: 1000 rejections.
	maxAnswerBytes = 1 << 20
)

// notices receives messages for the user during the import.
type notices interface{ notice(text string) }

// ingestClient sends batches to one server.
type ingestClient struct {
	url string
	// list sends the items as a list, without the members of a batch.
	list    bool
	key     domain.Secret
	http    *http.Client
	notices notices

	lock    sync.Mutex
	noticed time.Time // when a failure was last shown
}

func newIngestClient(server string, key domain.Secret, notices notices) *ingestClient {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: importSenders,
		IdleConnTimeout:     importPatience,
	}
	return &ingestClient{
		url: server + "/api/v1/batch", key: key, notices: notices,
		http: &http.Client{Transport: transport, Timeout: importRequestTime},
	}
}

// sendAll sends batches in order until the lane is closed or one is refused. A batch is finished once its sending has
// begun, even if ctx ends meanwhile.
func (c *ingestClient) sendAll(ctx context.Context, lane <-chan *importBatch, totals *importTotals) error {
	for batch := range lane {
		if err := c.send(ctx, batch, totals); err != nil {
			return err
		}
	}
	return nil
}

// ingestAnswer is the relevant part of an answer, for success and refusal.
type ingestAnswer struct {
	Accepted int64              `json:"accepted"`
	Rejected []ingest.Rejection `json:"rejected"`
	Detail   string             `json:"detail"`
}

// send sends one batch, and retries after a pause if another attempt may help. Repeating is safe: the server knows the
// ids of the items that it has already accepted.
func (c *ingestClient) send(ctx context.Context, batch *importBatch, totals *importTotals) error {
	body, err := squeeze(batch.body, c.list)
	if err != nil {
		return err
	}
	pause, deadline := firstPause, time.Now().Add(importPatience)
	for {
		answer, again, err := c.post(ctx, body)
		if err == nil {
			totals.note(answer, batch.lines)
			return nil
		}
		if again == noRetry || time.Now().After(deadline) {
			return err
		}
		wait := min(max(again, pause+rand.N(pause)), longestPause)
		c.complain(err, deadline)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause *= 2
	}
}

// complain reports a failure that is retried. All senders see the same failure, so one sentence per second is enough.
func (c *ingestClient) complain(err error, deadline time.Time) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if time.Since(c.noticed) < time.Second {
		return
	}
	c.noticed = time.Now()
	c.notices.notice(fmt.Sprintf("%v; trying for another %s", err, time.Until(deadline).Round(time.Second)))
}

// noRetry marks a refusal that would recur in another attempt.
const noRetry time.Duration = -1

// post makes one attempt. If it fails, again is the delay that the server requests, or noRetry.
func (c *ingestClient) post(ctx context.Context, body []byte) (answer ingestAnswer, again time.Duration, err error) {
	// An interrupt does not cancel a request, because its outcome would be unknown.
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return answer, noRetry, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key.Reveal())
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Content-Encoding", "gzip")
	response, err := c.http.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the outer error repeats method and address
		}
		return answer, 0, fmt.Errorf("%s does not answer: %w", request.URL.Host, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return answer, 0, fmt.Errorf("reading the server's answer: %w", err)
	}
	decoded := json.Unmarshal(content, &answer)
	switch status := response.StatusCode; {
	case status == http.StatusAccepted && decoded == nil:
		return answer, 0, nil
	case status == http.StatusBadRequest && len(answer.Rejected) > 0:
		return answer, 0, nil // every item was judged, none was accepted
	case status == http.StatusTooManyRequests, status >= http.StatusInternalServerError && status != http.StatusNotImplemented:
		return answer, retryAfter(response.Header), refusal(response, answer)
	}
	return answer, noRetry, refusal(response, answer)
}

// refusal describes the server's answer and the remedy to a person.
func refusal(response *http.Response, answer ingestAnswer) error {
	text := "the server answered " + response.Status
	if answer.Detail != "" {
		text += ": " + answer.Detail
	}
	switch response.StatusCode {
	case http.StatusUnauthorized:
		text += " Is the key one of this server's?"
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusOK:
		text += " Does --url name the service?"
	}
	return errors.New(text)
}

// retryAfter returns the delay that the server requests, 0 if it requests none.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// squeeze closes the body of a batch and compresses it.
func squeeze(body []byte, list bool) ([]byte, error) {
	tail := batchTail
	if list {
		body, tail = body[len(batchHead)-1:], "]"
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, err := zip.Write(body)
	if err == nil {
		_, err = io.WriteString(zip, tail)
	}
	if err = errors.Join(err, zip.Close()); err != nil {
		return nil, fmt.Errorf("compressing a batch: %w", err)
	}
	return out.Bytes(), nil
}
