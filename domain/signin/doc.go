// Package signin defines invitations and sign-in links.
package signin
