// Package alerting implements the actors of monitors and of alert rules with their incidents, channels and notices.
// CountListener counts the rows of each block for the rules. RuleIndex indexes the rules of all applications by
// environment. Schedule notifies the actors of a node when they are due.
package alerting
