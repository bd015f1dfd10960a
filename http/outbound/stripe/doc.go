// Package stripe reads subscriptions, payments and refunds of Stripe, by its API and by its webhooks, and makes billing
// items of them. It only reads.
//
// It uses version 2025-02-24.acacia of the API (https://docs.stripe.com/changelog/acacia). Each request names it, so
// that answers have one form, independently of the account's own version. Events have the form of the account's version
// or of the webhook's; the package accepts the forms of 2020-08-27 to 2025-09-30.clover.
//
// A reading first reads all present subscriptions. Then it reads invoices, for the earlier prices of subscriptions, and
// charges and refunds. Then it reads the events of the last 30 days, Stripe's retention, and from then on the new
// events. A webhook brings the same events earlier; their ids are the ids of the items, so each counts once.
package stripe
