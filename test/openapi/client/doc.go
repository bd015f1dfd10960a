// Package client holds what oapi-codegen makes of the document; its test adds it while it compiles.
package client

import _ "github.com/oapi-codegen/runtime" // the generated client imports it
