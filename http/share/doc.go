// Package share serves the public pages of applications at /s and /embed: HTML
// made on the server, without a token, without a request to any other host, and
// with links instead of scripts. A page shows sums and what its owner turned on;
// it never shows events, identities or private paths.
//
// Whether a page may be read is asked first, of a snapshot in memory, on every
// request; only then is the cache of rendered pages consulted. So a page that was
// disabled is refused at once, cached or not.
package share
