// Package issues has the actors of issues and of releases. Listener has resolved issues decide
// whether the occurrences of a block bring them back, and tells alert rules of new issues and of
// regressions. The tests named exactlyonce_ simulate nodes that fail, with the actors of issues and of
// alerting on them.
package issues
