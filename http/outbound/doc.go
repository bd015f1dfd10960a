// Package outbound calls addresses that users name: checks of monitors and notices of alerts. Every connection goes to
// exactly the address that was checked after the lookup of its name, also after a redirect. A name that changes its
// addresses in between therefore gains nothing.
package outbound
