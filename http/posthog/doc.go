// Package posthog reads the captured events of PostHog's SDKs, and writes them as items of the native batch.
package posthog
