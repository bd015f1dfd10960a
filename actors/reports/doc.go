// Package reports has the actors of e-mail reports, which own what is sent to whom and the letters that the mail server has not
// taken yet, and the runner that makes and sends the letters.
package reports
