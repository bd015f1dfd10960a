package svc

import "embed"

// Documentation holds the pages that the service serves about itself: README.md
// and the folder docs.
//
//go:embed README.md docs/*.md
var Documentation embed.FS
