// Package revenue reads what billing systems said, and keeps the ledgers that are made of it.
package revenue
