package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"svc/bench/harness"
	"svc/http/passkey/passkeytest" //nolint:depguard // a device, no part of the service
)

const (
	// batch is the number of people that one request identifies.
	batch = 500
	// storeTime limits the wait until all of them are stored.
	storeTime = 5 * time.Minute
	// author writes campaigns, second approves them: two people.
	author = "owner@acme.example"
	second = "bo@acme.example"
)

// address is the address of the n-th person.
func address(n int) string { return fmt.Sprintf("user-%d@people.example", n) }

// fill identifies all people and waits until they are stored.
func (b *bench) fill(ctx context.Context) error {
	conn := harness.NewConn(b.server.Address, "/api/v1/batch", b.server.Keys["production"].Secret, harness.UserAgents()[0])
	defer conn.Close()
	for from := 0; from < b.people; from += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		var items []map[string]any
		for n := from; n < min(from+batch, b.people); n++ {
			items = append(items, map[string]any{
				"type": "identify", "id": fmt.Sprintf("identify-%d", n), "distinctId": fmt.Sprintf("user-%d", n),
				"traits": map[string]any{"email": address(n), "name": fmt.Sprintf("Ada Nr%d", n)},
			})
		}
		body, err := json.Marshal(map[string]any{"items": items})
		if err != nil {
			return fmt.Errorf("encoding people: %w", err)
		}
		if err := deliver(ctx, conn, body); err != nil {
			return err
		}
	}
	return b.server.AwaitDrained(ctx, storeTime)
}

// deliver sends a body until it is accepted.
func deliver(ctx context.Context, conn *harness.Conn, body []byte) error {
	return harness.Poll(ctx, "people are taken", storeTime, 20*time.Millisecond, func(context.Context) (bool, string) {
		reply, err := conn.Post(body)
		if err != nil {
			return false, err.Error()
		}
		return reply.Status == http.StatusAccepted, fmt.Sprintf("%d %.200s", reply.Status, reply.Body)
	})
}

// broken turns an authenticator's failure into a panic, because the authenticator's input comes from this program.
type broken struct{}

func (broken) Helper()                           {}
func (broken) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (broken) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// challenge is a challenge to an authenticator.
type challenge struct {
	Ceremony string          `json:"ceremony"`
	Options  json.RawMessage `json:"options"`
}

// proof is the answer to a challenge.
type proof struct {
	Name       string          `json:"name,omitempty"`
	Ceremony   string          `json:"ceremony"`
	Credential json.RawMessage `json:"credential"`
}

// signIn opens the sessions of two people. The second one registers a passkey and signs in with it.
func (b *bench) signIn(ctx context.Context) (err error) {
	if b.author, err = b.server.Login(ctx, author); err != nil {
		return err
	}
	if err := b.server.Seat(ctx, second, "admin"); err != nil {
		return err
	}
	linked, err := b.server.Login(ctx, second)
	if err != nil {
		return err
	}
	device := passkeytest.New(broken{}, b.origin(), party)
	var asked challenge
	if _, err := b.post(ctx, linked, "/me/passkeys/challenge", nil, &asked); err != nil {
		return err
	}
	if _, err := b.post(ctx, linked, "/me/passkeys", proof{"Key", asked.Ceremony, device.Create(asked.Options)}, nil); err != nil {
		return err
	}
	if _, err := b.post(ctx, "", "/sessions/challenge", nil, &asked); err != nil {
		return err
	}
	b.second, err = b.post(ctx, "", "/sessions", proof{"", asked.Ceremony, device.Get(asked.Options)}, nil)
	return err
}

// campaigns is the path of the campaigns of the application.
const campaigns = "/apps/acme/web/campaigns"

// approved creates a campaign to all people that may be sent, and returns its id.
func (b *bench) approved(ctx context.Context, name string) (id string, err error) {
	var made, submitted struct {
		Campaign struct {
			ID       string `json:"id"`
			Revision int    `json:"revision"`
		} `json:"campaign"`
	}
	draft := map[string]any{"name": name, "subject": "Hello {{firstName|friend}}", "text": "Dear {{name}}, see https://shop.example/a.", "ratePerSecond": b.rate}
	if _, err := b.post(ctx, b.author, campaigns, draft, &made); err != nil {
		return "", err
	}
	path := campaigns + "/" + made.Campaign.ID
	if _, err := b.post(ctx, b.author, path+"/submit", nil, &submitted); err != nil {
		return "", err
	}
	_, err = b.post(ctx, b.second, path+"/decide", map[string]any{"decision": "approve", "revision": submitted.Campaign.Revision}, nil)
	return made.Campaign.ID, err
}

// control sends a command to a campaign.
func (b *bench) control(ctx context.Context, id, action string) error {
	_, err := b.post(ctx, b.author, campaigns+"/"+id+"/control", map[string]any{"action": action}, nil)
	return err
}

// post sends a request of the console and decodes the answer. It returns the session that the answer opens.
func (b *bench) post(ctx context.Context, session, path string, body, into any) (opened string, err error) {
	var encoded []byte
	if body != nil {
		if encoded, err = json.Marshal(body); err != nil {
			return "", fmt.Errorf("encoding a request: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.server.Address+"/console/api/v1"+path, bytes.NewReader(encoded))
	if err != nil {
		return "", fmt.Errorf("making a request: %w", err)
	}
	if session != "" {
		request.Header.Set("Authorization", "Bearer "+session)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := b.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("asking the console: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // the body is read
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		return "", fmt.Errorf("%s: %d %.300s (%w)", path, response.StatusCode, answer, err)
	}
	for _, cookie := range response.Cookies() {
		opened = cookie.Value
	}
	if into == nil {
		return opened, nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return "", fmt.Errorf("decoding the answer to %s: %w", path, err)
	}
	return opened, nil
}
