package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/bench/harness"
)

// listener follows one stream.
type listener struct {
	frames uint64
	// added is the time from the model's sending to the reading of each fragment, first the time from the question to
	// the first frame.
	added, first harness.Latency
	err          error
}

// ask asks a question with a token and reads its answer until the turn is done.
func (b *bench) ask(ctx context.Context, l *listener, token string) error {
	url := "http://" + b.server.Address + "/api/v1/apps/" + b.server.Organization + "/" + b.server.App + "/ai/ask"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"question":"Speak."}`))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	return l.listen(b.client, request)
}

// listen reads a stream until its frame named done.
func (l *listener) listen(client *http.Client, request *http.Request) error {
	asked := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking: %d", response.StatusCode)
	}
	lines := bufio.NewReader(response.Body)
	event := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return errors.New("the stream ended before its turn")
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case name == "event":
			if event == "" {
				l.first.Record(time.Since(asked))
			}
			event = value
		case name == "data" && event == "error":
			return errors.New(value)
		case name == "data" && event == "done":
			return nil
		case name == "data" && event == "text":
			l.count(value)
		}
	}
}

// count records a fragment by the instant that it contains. The instant is a separate string, both in the service's
// frames and in those of a bare relay.
func (l *listener) count(data string) {
	for _, name := range [...]string{`"text":"`, `"content":"`} {
		_, rest, found := strings.Cut(data, name)
		digits, _, whole := strings.Cut(rest, " ")
		if !found || !whole {
			continue
		}
		if sent, err := strconv.ParseInt(digits, 10, 64); err == nil {
			l.frames++
			l.added.Record(time.Since(time.Unix(0, sent)))
			return
		}
	}
}

// together runs concurrent listeners and returns their results; while runs at the same time.
func together(count int, listen func(*listener) error, while func()) (whole harness.Outcome, first harness.Latency) {
	listeners := make([]listener, count)
	began := time.Now()
	var all sync.WaitGroup
	for n := range listeners {
		all.Go(func() { listeners[n].err = listen(&listeners[n]) })
	}
	if while != nil {
		while()
	}
	all.Wait()
	whole.Elapsed = time.Since(began)
	for n := range listeners {
		l := &listeners[n]
		if l.err != nil {
			whole.Failures++
			whole.FirstFailure = l.err.Error()
		}
		whole.Events += l.frames
		whole.Latency.Merge(&l.added)
		first.Merge(&l.first)
	}
	return whole, first
}
