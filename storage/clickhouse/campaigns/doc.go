// Package campaigns stores the recipients of campaigns and the outcome for each of them.
package campaigns
