// Package flags keeps how often flags were evaluated and who was served which variant, and answers what became of them.
package flags
