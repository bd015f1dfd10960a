// Package revenue defines subscriptions, payments, currencies and the ledger of movements.
package revenue
