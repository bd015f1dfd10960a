// Package release defines releases of an application and their versions.
package release
