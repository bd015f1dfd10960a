// Package analytics defines the questions of analytics and their answers.
package analytics
