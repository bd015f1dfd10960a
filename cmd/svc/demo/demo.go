// Package demo is `svc demo`: it fills an application with an invented product, by the same calls that the button
// of the console makes.
package demo

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"svc"
	"svc/cmd/svc/cli"
	"svc/cmd/svc/operator"
	"svc/cmd/svc/settings"
	"svc/http/admin"
)

const help = `Usage: svc demo [flags]

Makes the application demo in an organization and fills it with 90 days of an
invented product: visits, people, errors and metrics, over the ordinary API of a
running server. It is the same every time but for its dates; a demo that was
interrupted is completed by sending it again.

Flags:
  --org O          organization (default acme)
  --email E        on whose behalf (default owner@acme.example)
  --url URL        the server (default: SVC_PUBLIC_URL, or what SVC_HTTP_ADDR says)
  --addr A         its admin listener (default: SVC_ADMIN_ADDR)
  --token-file F   the operator's token (default: SVC_DATA_DIR/operator.token)
`

// slug is that of the application.
const slug = "demo"

// tokenTime bounds the life of the token that the command works with, should it not come to revoke it.
const tokenTime = time.Hour

// sender makes the calls of the demo.
type sender struct {
	url, org   string
	token, key string
	stderr     io.Writer
}

// Run makes and fills the application.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	server := operator.Presets()
	send := sender{stderr: stderr}
	var email string
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	server.Flags(flags)
	flags.StringVar(&send.org, "org", "acme", "organization")
	flags.StringVar(&email, "email", "owner@acme.example", "person")
	flags.StringVar(&send.url, "url", "", "the server")
	if err := cli.ParseFlags(flags, args, func(w io.Writer) { fmt.Fprint(w, help) }, stdout, stderr); err != nil {
		return err
	}
	if send.url == "" {
		config := settings.Config{PublicURL: settings.Value("SVC_PUBLIC_URL")}
		send.url = config.URLAt(settings.Value("SVC_HTTP_ADDR"))
	}
	expires := time.Now().Add(tokenTime)
	var minted admin.Minted
	answer, err := server.Ask(ctx, "tokens.mint", admin.Command{Email: email, Name: "svc demo", Scopes: svc.Scopes(), ExpiresAt: &expires})
	if err == nil {
		err = json.Unmarshal(answer, &minted)
	}
	if err != nil {
		return fmt.Errorf("asking for a token: %w", err)
	}
	send.token = minted.Secret
	err = send.all(ctx)
	// The token ends with the work, also where that was interrupted.
	if _, revokeErr := server.Ask(context.WithoutCancel(ctx), "tokens.revoke", admin.Command{Email: email, ID: minted.Token.ID}); revokeErr != nil && err == nil {
		err = fmt.Errorf("revoking the token: %w", revokeErr)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "The demo is at %s/console#/apps/%s/%s/overview\n", send.url, send.org, slug)
	return nil
}

// part is a part of the demo as the server has it.
type part struct {
	Parts int    `json:"parts"`
	Until string `json:"until"`
	Calls []struct {
		Method string          `json:"method"`
		Path   string          `json:"path"`
		Body   json.RawMessage `json:"body"`
		Ingest bool            `json:"ingest"`
	} `json:"calls"`
}

// all makes the application and a key, sends every part, and revokes the key.
func (s *sender) all(ctx context.Context) error {
	spec := map[string]any{"name": "Demo", "slug": slug, "platform": "web", "url": "https://harbor.example", "modules": svc.Modules()}
	if _, err := s.call(ctx, http.MethodPost, "/api/v1/orgs/"+s.org+"/apps", s.token, spec); err != nil && !conflicts(err) {
		return fmt.Errorf("making the application: %w", err)
	}
	app := s.org + "/" + slug
	answer, err := s.call(ctx, http.MethodPost, "/api/v1/apps/"+app+"/keys", s.token, map[string]any{"kind": svc.KeySecret, "environment": svc.DefaultEnvironment, "label": "demo"})
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	var made struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	if err := json.Unmarshal(answer, &made); err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	s.key = made.Key
	err = s.parts(ctx, app)
	if _, revokeErr := s.call(context.WithoutCancel(ctx), http.MethodDelete, "/api/v1/apps/"+app+"/keys/"+made.ID, s.token, nil); revokeErr != nil && err == nil {
		err = fmt.Errorf("revoking the key: %w", revokeErr)
	}
	return err
}

// parts asks for the parts one after the other, and makes their calls.
func (s *sender) parts(ctx context.Context, app string) error {
	until := ""
	for number, count := 0, 1; number < count; number++ {
		answer, err := s.call(ctx, http.MethodGet, fmt.Sprintf("/console/demo/%d?until=%s", number, until), "", nil)
		if err != nil {
			return fmt.Errorf("asking for part %d: %w", number, err)
		}
		var next part
		if err := json.Unmarshal(answer, &next); err != nil {
			return fmt.Errorf("reading part %d: %w", number, err)
		}
		count, until = next.Parts, next.Until
		for _, one := range next.Calls {
			bearer := s.token
			if one.Ingest {
				bearer = s.key
			}
			path := strings.ReplaceAll(one.Path, "{app}", app)
			if _, err := s.call(ctx, one.Method, path, bearer, one.Body); err != nil && !conflicts(err) {
				return fmt.Errorf("sending part %d: %w", number, err)
			}
		}
		fmt.Fprintf(s.stderr, "%d of %d\n", number+1, count)
	}
	return nil
}
