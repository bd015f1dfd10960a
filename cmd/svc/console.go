package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"

	manual "svc/docs"
	"svc/domain"
	"svc/domain/signin"
	"svc/http/admin"
	"svc/http/console"
	"svc/http/docs"
	"svc/http/docsite"
	"svc/http/route"
	"svc/http/script"
)

// consoleModule adds the page at /console. Its data and actions come from the rows of other modules.
func (n *node) consoleModule() module {
	return module{name: "console", wire: n.wireConsole, routes: func() ([]route.Route, error) { return console.Routes() }}
}

func (n *node) wireConsole() (err error) {
	if n.consoleSeal, err = n.vault.Box("console"); err != nil {
		return fmt.Errorf("making the seal of the console: %w", err)
	}
	return nil
}

// consoleSite returns the scheme and host of the console. Passkeys belong to host names, so a loopback address is
// replaced by its name.
func (n *node) consoleSite() string {
	site, err := url.Parse(n.url())
	if err != nil {
		return n.url()
	}
	if ip := net.ParseIP(site.Hostname()); ip != nil && ip.IsLoopback() && n.config.PublicURL == "" {
		site.Host = net.JoinHostPort("localhost", site.Port())
	}
	return site.String()
}

// setupLink creates the link that signs the first owner in to the console.
func (n *node) setupLink(ctx context.Context, owner domain.User) (string, error) {
	secret, err := n.identity.NewLink(ctx, signin.Link{User: owner, EndsAt: n.now().Add(signin.SetupTime)})
	return admin.SetupLink(n.consoleSite(), secret), err
}

// documentationModule adds the documentation as answers and as a site, and the script for web pages.
func (n *node) documentationModule() module {
	return module{name: "documentation", routes: func() ([]route.Route, error) {
		site, err := docsite.New(n.library)
		if err != nil {
			return nil, fmt.Errorf("opening the documentation site: %w", err)
		}
		scripts, err := script.Routes()
		if err != nil {
			return nil, err
		}
		return slices.Concat(n.library.Routes(), site.Routes(), scripts), nil
	}}
}

// openLibrary opens the embedded documentation.
func (n *node) openLibrary() (err error) {
	if n.library, err = docs.Open(manual.Documentation); err != nil {
		return fmt.Errorf("opening the documentation: %w", err)
	}
	return nil
}
