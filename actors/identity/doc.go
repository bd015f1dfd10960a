// Package identity decides about access to organizations. It implements the actors of organizations, users, access
// tokens and idempotency keys, and their clients.
package identity
