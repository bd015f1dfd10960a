// Package docs is the documentation that the service serves about itself: the markdown pages of a folder, and pages
// generated from the table of routes and from the list of error codes, so that these cannot become outdated.
package docs
