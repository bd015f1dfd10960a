// Package campaign defines campaigns by e-mail.
package campaign
