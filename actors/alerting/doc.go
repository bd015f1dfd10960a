// Package alerting has the actors of monitors and of alert rules with their incidents, channels and
// notices. CountListener counts for the rules what each block holds, RuleIndex indexes the rules of all
// applications by environment, and Schedule tells the actors of a node when they are due.
package alerting
