// Package outbound calls addresses that users name: checks of monitors and notices of
// alerts. Every connection goes to an address that was checked after its name was looked
// up, to that very address, and again on every redirect; a name that changes what it stands
// for in between gains nothing.
package outbound
