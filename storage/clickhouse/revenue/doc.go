// Package revenue reads the items of billing systems, and caches the ledgers that are computed from them.
package revenue
