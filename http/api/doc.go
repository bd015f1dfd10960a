// Package api is the route table and its handlers: one file per noun, which
// declares the ports that the noun needs, the shapes that it reads and answers,
// and one short function per route. A port is filled by cmd; its methods speak
// the root's types and fail with the root's errors.
package api
