// Package demo is `svc demo`: it fills an application with an invented product, with the same calls as the button of
// the console.
package demo

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operator"
	"svc/cmd/svc/settings"
	"svc/domain"
	"svc/http/admin"
	invented "svc/http/console/demo"
)

const help = `Usage: svc demo [flags]
       svc demo --remove [flags]

Makes the application demo in an organization and fills it with 90 days of an
invented product: visits, people, errors and metrics, over the ordinary API of a
running server. It is the same every time but for its dates; a demo that was
interrupted is completed by sending it again. --remove deletes every demo of the
organization; an address is spent then, so the next demo is at demo-2.

Flags:
  --org O          organization (default acme)
  --email E        on whose behalf (default owner@acme.example)
  --url URL        the server (default: SVC_PUBLIC_URL, or what SVC_HTTP_ADDR says)
  --addr A         its admin listener (default: SVC_ADMIN_ADDR)
  --token-file F   the operator's token (default: SVC_DATA_DIR/operator.token)
`

// tokenTime limits the life of the command's token, in case the command cannot revoke it.
const tokenTime = time.Hour

// sender makes the calls of the demo.
type sender struct {
	url, org   string
	token, key string
	// session is a console session, for the calls that no token may make.
	session string
	// slug is the slug of the application.
	slug   string
	stderr io.Writer
}

// Run creates and fills the application.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	server := operator.Presets()
	send := sender{stderr: stderr}
	var email string
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	server.Flags(flags)
	flags.StringVar(&send.org, "org", "acme", "organization")
	flags.StringVar(&email, "email", "owner@acme.example", "person")
	flags.StringVar(&send.url, "url", "", "the server")
	remove := flags.Bool("remove", false, "delete the demo")
	if err := cli.ParseFlags(flags, args, func(w io.Writer) { fmt.Fprint(w, help) }, stdout, stderr); err != nil {
		return err
	}
	if send.url == "" {
		config := settings.Config{PublicURL: settings.Value("SVC_PUBLIC_URL")}
		send.url = config.URLAt(settings.Value("SVC_HTTP_ADDR"))
	}
	expires := time.Now().Add(tokenTime)
	var minted admin.Minted
	answer, err := server.Ask(ctx, "tokens.mint", admin.Command{Email: email, Name: "svc demo", Scopes: domain.Scopes(), ExpiresAt: &expires})
	if err == nil {
		err = json.Unmarshal(answer, &minted)
	}
	if err != nil {
		return fmt.Errorf("asking for a token: %w", err)
	}
	send.token = minted.Secret
	if *remove {
		err = send.remove(ctx, server, stdout)
	} else {
		err = send.signedIn(ctx, server, email)
	}
	// The token ends with the work, also if that was interrupted.
	if _, revokeErr := server.Ask(context.WithoutCancel(ctx), "tokens.revoke", admin.Command{Email: email, ID: minted.Token.ID}); revokeErr != nil && err == nil {
		err = fmt.Errorf("revoking the token: %w", revokeErr)
	}
	if err != nil || *remove {
		return err
	}
	fmt.Fprintf(stdout, "The demo is at %s/console#/apps/%s/%s/overview\n", send.url, send.org, send.slug)
	return nil
}

// application holds the fields of an application that the command uses.
type application struct {
	Slug string `json:"slug"`
	URL  string `json:"url"`
}

// demos lists the demo applications of the organization.
func (s *sender) demos(ctx context.Context) (found []application, err error) {
	answer, err := s.call(ctx, http.MethodGet, "/api/v1/orgs/"+s.org+"/apps?limit=200", s.token, nil)
	if err != nil {
		return nil, fmt.Errorf("listing the applications: %w", err)
	}
	var list struct {
		Data []application `json:"data"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, fmt.Errorf("listing the applications: %w", err)
	}
	for _, one := range list.Data {
		if one.URL == invented.Site {
			found = append(found, one)
		}
	}
	return found, nil
}

// remove asks the operator's listener to delete every demo of the organization.
func (s *sender) remove(ctx context.Context, server operator.Server, stdout io.Writer) error {
	found, err := s.demos(ctx)
	if err != nil {
		return err
	}
	for _, one := range found {
		if _, err := server.Ask(ctx, "apps.delete", admin.Command{Org: s.org, App: one.Slug}); err != nil {
			return fmt.Errorf("deleting %s/%s: %w", s.org, one.Slug, err)
		}
		fmt.Fprintf(stdout, "Deleted %s/%s.\n", s.org, one.Slug)
	}
	if len(found) == 0 {
		fmt.Fprintf(stdout, "The organization %s has no demo.\n", s.org)
	}
	return nil
}

// make creates the application, or finds the one of an interrupted demo.
func (s *sender) make(ctx context.Context) error {
	found, err := s.demos(ctx)
	if err != nil || len(found) > 0 {
		if err == nil {
			s.slug = found[0].Slug
		}
		return err
	}
	// Without a slug, the service uses the first one that was never used.
	spec := map[string]any{"name": "Demo", "platform": "web", "url": invented.Site, "modules": domain.Modules()}
	answer, err := s.call(ctx, http.MethodPost, "/api/v1/orgs/"+s.org+"/apps", s.token, spec)
	if err != nil {
		return fmt.Errorf("making the application: %w", err)
	}
	var made application
	if err := json.Unmarshal(answer, &made); err != nil {
		return fmt.Errorf("making the application: %w", err)
	}
	s.slug = made.Slug
	return nil
}

// signedIn creates the demo with a console session, and ends the session.
func (s *sender) signedIn(ctx context.Context, server operator.Server, email string) error {
	var opened admin.Minted
	answer, err := server.Ask(ctx, "login", admin.Command{Email: email})
	if err == nil {
		err = json.Unmarshal(answer, &opened)
	}
	if err != nil {
		return fmt.Errorf("asking for a session: %w", err)
	}
	s.session = opened.Secret
	err = s.all(ctx)
	if _, endErr := s.call(context.WithoutCancel(ctx), http.MethodDelete, "/console/api/v1/sessions", s.session, nil); endErr != nil && err == nil {
		err = fmt.Errorf("ending the session: %w", endErr)
	}
	return err
}

// all creates the application and a key, sends every part, and revokes the key.
func (s *sender) all(ctx context.Context) error {
	if err := s.make(ctx); err != nil {
		return err
	}
	app := s.org + "/" + s.slug
	answer, err := s.call(ctx, http.MethodPost, "/api/v1/apps/"+app+"/keys", s.token, map[string]any{"kind": domain.KeySecret, "environment": domain.DefaultEnvironment, "label": "demo"})
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

// parts makes the calls of all parts.
func (s *sender) parts(ctx context.Context, app string) error {
	until := time.Now().UTC().Truncate(time.Second)
	for number, count := 0, 1; number < count; number++ {
		part, _ := invented.Of(number, until)
		count = part.Parts
		for _, one := range part.Calls {
			if err := s.send(ctx, &one, app); err != nil {
				return fmt.Errorf("sending part %d: %w", number, err)
			}
		}
		fmt.Fprintf(s.stderr, "%d of %d\n", number+1, count)
	}
	return nil
}

// send makes one call, unless its object already exists.
func (s *sender) send(ctx context.Context, one *invented.Call, app string) error {
	if made, err := s.isMade(ctx, one, app); err != nil || made {
		return err
	}
	bearer := s.token
	switch {
	case one.Ingest:
		bearer = s.key
	case one.Console():
		bearer = s.session
	}
	if _, err := s.call(ctx, one.Method, strings.ReplaceAll(one.Path, "{app}", app), bearer, one.Body); err != nil && !conflicts(err) {
		return err
	}
	return nil
}

// isMade reports whether the list that a call names has a row with the name or the title of its body.
func (s *sender) isMade(ctx context.Context, one *invented.Call, app string) (bool, error) {
	if one.Unless == "" {
		return false, nil
	}
	answer, err := s.call(ctx, http.MethodGet, strings.ReplaceAll(one.Unless, "{app}", app), s.token, nil)
	if err != nil {
		return false, err
	}
	var list struct {
		Data []named `json:"data"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return false, fmt.Errorf("reading %s: %w", one.Unless, err)
	}
	body, err := json.Marshal(one.Body)
	if err != nil {
		return false, fmt.Errorf("encoding the request: %w", err)
	}
	var wanted named
	if err := json.Unmarshal(body, &wanted); err != nil {
		return false, fmt.Errorf("reading a call: %w", err)
	}
	return slices.Contains(list.Data, wanted), nil
}

// named is the distinguishing field of a demo's objects: a name or a title.
type named struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}
