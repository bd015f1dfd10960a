package main

import (
	"fmt"
	"slices"

	"svc"
	"svc/http/console"
	"svc/http/docs"
	"svc/http/docsite"
	"svc/http/route"
)

// documentationModule is the documentation as answers and as a site, and the page of the console.
func (n *node) documentationModule() module {
	return module{name: "documentation", routes: func() ([]route.Route, error) {
		site, err := docsite.New(n.library)
		if err != nil {
			return nil, fmt.Errorf("opening the documentation site: %w", err)
		}
		return slices.Concat(n.library.Routes(), site.Routes(), console.Routes()), nil
	}}
}

// openLibrary opens the documentation that is part of the program.
func (n *node) openLibrary() (err error) {
	if n.library, err = docs.Open(svc.Documentation); err != nil {
		return fmt.Errorf("opening the documentation: %w", err)
	}
	return nil
}
