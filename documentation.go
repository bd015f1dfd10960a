package svc

import "embed"

// Documentation holds the documentation pages that the service serves: README.md and the folder docs.
//
//go:embed README.md docs/*.md
var Documentation embed.FS
