// Package reports implements the actors of e-mail reports, and the runner that makes and sends the letters. The actors
// own the recipients of each report and the letters that the mail server has not taken yet.
package reports
