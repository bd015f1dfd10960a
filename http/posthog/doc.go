// Package posthog reads what the SDKs of PostHog capture, and writes it as items of the native batch.
package posthog
