// Package share serves the public pages of applications at /s and /embed: HTML that is rendered on the server, needs no
// token, makes no request to another host, and uses links instead of scripts. A page shows sums and the panels that its
// owner turned on; it never shows events, identities or private paths.
//
// Every request first checks in a snapshot in memory whether the page may be read, and only then uses the cache of
// rendered pages. So a disabled page is refused at once, cached or not.
package share
