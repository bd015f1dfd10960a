// Package alert defines alert rules, incidents, silences, channels and notices.
package alert
