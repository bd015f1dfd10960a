// Package share defines the public page of an application.
package share
