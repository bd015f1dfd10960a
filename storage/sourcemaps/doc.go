// Package sourcemaps finds the original place of a frame of minified JavaScript: its
// file, line, column and the function around it. The maps come from a store and are
// kept parsed in memory up to a bound.
//
// A map names tokens, not functions. The function is therefore read from the original
// text, which bundlers put into the map: the innermost function with a name whose
// braces hold the place. So the same code has the same function name in every build.
package sourcemaps
