// Package api contains the parts that the routes of the management API and of the console share: parameters, pages, and
// conversions of rows.
//
// The routes themselves are in the packages below it, one for each module of the product. Such a package has one file
// per noun: the ports that the noun needs, its rows, the types of its inputs and answers, and one short function per
// route. Its routes.go lists the ports and the rows of the package. cmd provides the ports, whose methods take and
// return the root's types and errors.
package api
