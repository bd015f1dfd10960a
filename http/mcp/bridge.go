package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"svc/domain"
)

// Bridge carries messages between a client at standard input and output and a server at a URL: one message a line, as
// in the protocol's stdio transport.
type Bridge struct {
	// URL is the address of the server's /mcp.
	URL    string
	Token  domain.Secret
	Client *http.Client

	writing sync.Mutex
	out     io.Writer

	mu sync.Mutex
	// version is the version of the handshake; later requests name it.
	version string
	// running contains the requests that a client may cancel, by id.
	running map[string]context.CancelFunc
}

// Bounds of the bridge.
const (
	maxLine    = 4 << 20
	maxAtOnce  = 16
	maxReplies = 16 << 20
)

// message has the members of a message that the bridge reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
	Result struct {
		Version string `json:"protocolVersion"`
	} `json:"result"`
}

// Run carries messages until the input ends, and then waits for the outstanding answers. It stops if ctx ends. Messages
// that cannot be delivered are answered with an error.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	b.out, b.running = out, map[string]context.CancelFunc{}
	lines, ended := make(chan []byte), make(chan error, 1)
	go func() {
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxLine)
		for scanner.Scan() {
			select {
			case lines <- bytes.Clone(scanner.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		ended <- scanner.Err()
	}()
	var carried sync.WaitGroup
	defer carried.Wait()
	slots := make(chan struct{}, maxAtOnce)
	for {
		select {
		case line := <-lines:
			b.take(ctx, line, slots, &carried)
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("reading messages: %w", err)
			}
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// take begins the delivery of a line.
func (b *Bridge) take(ctx context.Context, line []byte, slots chan struct{}, carried *sync.WaitGroup) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	var of message
	_ = json.Unmarshal(line, &of) // The line may be a batch, or a text that the server refuses.
	if of.Method == "notifications/cancelled" {
		b.cancel(string(of.Params.RequestID))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	id := string(of.ID)
	b.mu.Lock()
	if id != "" {
		b.running[id] = cancel
	}
	b.mu.Unlock()
	carried.Go(func() {
		slots <- struct{}{} // The slot is taken only here, because a message that cancels must not wait.
		defer func() { <-slots }()
		defer b.cancel(id)
		defer cancel()
		if reply := b.deliver(ctx, &of, line); reply != nil && ctx.Err() == nil {
			b.write(reply)
		}
	})
}

// cancel ends the request with an id and removes it.
func (b *Bridge) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[id]; cancel != nil {
		cancel()
		delete(b.running, id)
	}
}

func (b *Bridge) write(reply []byte) {
	var line bytes.Buffer
	if json.Compact(&line, reply) != nil {
		return
	}
	line.WriteByte('\n')
	b.writing.Lock()
	defer b.writing.Unlock()
	_, _ = b.out.Write(line.Bytes()) // A client that has disconnected closes the input as well.
}

// deliver sends a message and returns the answer for the client, nil if there is no answer.
func (b *Bridge) deliver(ctx context.Context, of *message, line []byte) []byte {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL, bytes.NewReader(line))
	if err != nil {
		return failure(of, err.Error())
	}
	b.address(request, of)
	response, err := b.Client.Do(request)
	if err != nil {
		return failure(of, fmt.Sprintf("The server cannot be reached: %v.", errors.Unwrap(err)))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReplies))
	if err != nil {
		return failure(of, "The answer broke off.")
	}
	if response.StatusCode == http.StatusAccepted || len(body) == 0 && response.StatusCode < http.StatusMultipleChoices {
		return nil
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return refusal(of, response.StatusCode, body)
	}
	if of.Method == "initialize" {
		var reply message
		if json.Unmarshal(body, &reply) == nil {
			b.mu.Lock()
			b.version = reply.Result.Version
			b.mu.Unlock()
		}
	}
	return body
}

// address sets the headers that repeat parts of the message.
func (b *Bridge) address(request *http.Request, of *message) {
	header := request.Header
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	header.Set("Authorization", "Bearer "+b.Token.Reveal())
	if version := of.Params.Meta.Version; version != "" {
		header.Set("Mcp-Protocol-Version", version)
		header.Set("Mcp-Method", of.Method)
		if name := of.Params.Name + of.Params.URI; name != "" {
			header.Set("Mcp-Name", name)
		}
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.version != "" && of.Method != "initialize" {
		header.Set("Mcp-Protocol-Version", b.version)
	}
}

// refusal makes an error with the message's id of an answer outside the protocol: a problem of the service, or an error
// of the transport without an id.
func refusal(of *message, status int, body []byte) []byte {
	var problem struct {
		ID     json.RawMessage `json:"id"`
		Detail string          `json:"detail"`
		Error  struct {
			Code    int64  `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &problem) // The status represents any other body.
	switch named := len(problem.ID) > 0 && string(problem.ID) != "null"; {
	case named, problem.Error.Code != 0 && len(of.ID) == 0 && of.Method == "": // The message is not a notification, so the client waits.
		return body
	case problem.Error.Code != 0 && len(of.ID) > 0 && status == http.StatusBadRequest:
		return errorText(of.ID, &jsonrpc.Error{Code: problem.Error.Code, Message: problem.Error.Message})
	}
	text := problem.Detail + problem.Error.Message
	if text == "" {
		text = strings.TrimSpace(http.StatusText(status))
	}
	return failure(of, fmt.Sprintf("%s (%d)", text, status))
}

// failure is the answer to an undelivered message; a notification gets none.
func failure(of *message, text string) []byte {
	if len(of.ID) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": of.ID, "error": map[string]any{"code": jsonrpc.CodeInternalError, "message": text}})
	if err != nil {
		return nil
	}
	return body
}
