package admin

import (
	"context"
	"net/http"
)

// MoveSpec selects the environment to move, and the destination.
type MoveSpec struct {
	// App is the address of an application, organization/application; Environment is the slug of one of its
	// environments.
	App         string `json:"app"`
	Environment string `json:"environment"`
	// Store is the index of a store in the list of stores, from 0.
	Store *int `json:"store"`
}

// Moves moves environments between stores.
type Moves interface {
	// Move returns a report of the moved data for the operator.
	Move(ctx context.Context, spec MoveSpec) (any, error)
}

// registerMoves serves the command, which takes as long as the stores need for the copy.
func registerMoves(mux *http.ServeMux, port Moves) {
	if port == nil {
		return
	}
	mux.HandleFunc("POST /admin/v1/environments.move", serveLong("The body is no JSON of a move: it has the members app, environment and store.", port.Move))
}
