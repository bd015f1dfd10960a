package llm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/segmentio/encoding/json"
	"github.com/tmaxmax/go-sse"

	"svc/domain"
)

// endpoint is the single streaming POST of a family.
type endpoint struct {
	client *http.Client
	url    string
	// header contains the credential and the family's version.
	header http.Header
}

// newEndpoint returns the endpoint of a path below base.
func newEndpoint(client *http.Client, base, path string, header http.Header) endpoint {
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	return endpoint{client: client, url: strings.TrimSuffix(base, "/") + "/" + path, header: header}
}

// errCut means that an answer ended without the family's closing event.
var errCut = errors.New("the stream was cut off")

// errInStream means that the provider reported an error within an answer.
var errInStream = errors.New("the stream holds an error")

// ask sends a request and returns the body of its answer, which the caller closes. A status other than 200 is a
// statusError. ask retains no part of the request: an answer takes long, and there may be thousands.
func (e *endpoint) ask(ctx context.Context, question any) (io.ReadCloser, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = e.header.Clone()
	answer, err := e.client.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close() // The text of a refusal is not shown.
		return nil, statusError{answer.StatusCode}
	}
	return answer.Body, nil
}

// maxEvent bounds one event of an answer in bytes. Fragments have hundreds of bytes; a service that
// does not split the input of a tool call sends it as one event.
const maxEvent = 4 << 20

// readEvents passes the events of an answer to take, in order, until one is the last. If the answer is not complete
// then, it was cut off.
func readEvents(answer io.Reader, take func(data string) (last bool, err error), whole func() bool) error {
	for event, err := range sse.Read(answer, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return err
		}
		if domain.TooDeep([]byte(event.Data)) { // The decoder has no limit of its own.
			return domain.ErrTooDeep
		}
		last, err := take(event.Data)
		if err != nil {
			return err
		}
		if last {
			break
		}
	}
	if !whole() {
		return errCut
	}
	return nil
}
