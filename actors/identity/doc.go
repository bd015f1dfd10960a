// Package identity holds who may do what where: the actors of organizations, people, access
// tokens and idempotency keys, and their clients.
package identity
