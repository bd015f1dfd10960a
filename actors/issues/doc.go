// Package issues implements the actors of issues and of releases. Listener makes resolved issues decide whether the
// occurrences of a block reopen them. It reports new issues and regressions to alert rules. The tests named
// exactlyonce_ simulate nodes that fail and host the actors of issues and of alerting.
package issues
