// Package campaigns keeps the recipients of campaigns, and what became of them.
package campaigns
