// Package identity decides who may do what in which organization: it has the actors of organizations,
// people, access tokens and idempotency keys, and their clients.
package identity
