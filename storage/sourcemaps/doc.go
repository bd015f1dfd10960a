// Package sourcemaps finds the original position of a frame of minified JavaScript: its file, line, column and
// enclosing function. The maps come from a store and are cached in parsed form, up to a memory limit.
//
// A map names tokens, not functions. The function therefore comes from the original text, which bundlers put into the
// map. It is the innermost named function with braces around the position. The same code thus has the same function
// name in every build.
package sourcemaps
