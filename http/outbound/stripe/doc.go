// Package stripe reads subscriptions, payments and refunds of Stripe, by its API and by its webhooks, and makes billing items of
// them. It only reads.
//
// It speaks version 2025-02-24.acacia of the API (https://docs.stripe.com/changelog/acacia), which each request names, so that
// answers have one form whatever the account's own version is. Events have the form of the account's version or of the webhook's;
// what is read of them is understood in the forms of 2020-08-27 to 2025-09-30.clover.
//
// A reading goes through all subscriptions as they are, then invoices for the prices that subscriptions had earlier, charges and
// refunds, then the events of the last 30 days, which is as long as Stripe keeps them, and from then on the events since.
// What a webhook tells is the same events earlier; their ids are the ids of the items, so each counts once.
package stripe
