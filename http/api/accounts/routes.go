// Package accounts has the routes of people, organizations and their credentials: the caller's own description,
// members, invitations, tokens, passkeys and the ledger.
package accounts

import (
	"slices"

	"svc/http/api"
	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Organizations Organizations
	Members       Members
	Invitations   Invitations
	Tokens        Tokens
	Passkeys      api.Passkeys
	Sessions      Sessions
	Links         Links
	// Letters mails invitations; nil if the service has no mail server.
	Letters Letters
	Seal    Seal
	Ledger  Ledger
	// Client describes browsers; nil describes none.
	Client Client
	// Limits is shown by GET /me.
	Limits Limits
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return slices.Concat(
		meRoutes(ports),
		consoleOrgRoutes(ports),
		consoleMemberRoutes(ports),
		consoleInvitationRoutes(ports),
		consoleTokenRoutes(ports),
		consoleSessionRoutes(ports),
		ownSessionRoutes(ports),
		consolePasskeyRoutes(ports),
		ledgerRoutes(ports),
	)
}
