// Package manual contains the documentation for users and operators.
package manual

import "embed"

// Documentation contains the pages that the service serves about itself. README.md is the index.
//
//go:embed *.md
var Documentation embed.FS
