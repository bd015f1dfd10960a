// Package outbound calls addresses that users name: checks of monitors and notices of alerts. Every
// connection goes to exactly the address that was checked after the lookup of its name, also after
// a redirect, so a name that changes its addresses in between gains nothing.
package outbound
