package main

import (
	"fmt"
	"slices"

	"svc"
	"svc/http/console"
	"svc/http/docs"
	"svc/http/docsite"
	"svc/http/route"
	"svc/http/script"
)

// documentationModule is the documentation as answers and as a site, the page of the console, and the script of web pages.
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
		return slices.Concat(n.library.Routes(), site.Routes(), console.Routes(), scripts), nil
	}}
}

// openLibrary opens the documentation that is part of the program.
func (n *node) openLibrary() (err error) {
	if n.library, err = docs.Open(svc.Documentation); err != nil {
		return fmt.Errorf("opening the documentation: %w", err)
	}
	return nil
}
