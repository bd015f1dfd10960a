package person

import (
	"time"

	"svc/domain"
)

// Company is a company of an environment, with its people.
type Company struct {
	Name string
	// People is the number of its people, Events the number of their events.
	People, Events uint64
	// FirstSeenAt is when the first of its people was first seen, LastSeenAt when any of them was last seen.
	FirstSeenAt, LastSeenAt time.Time
}

// CompanyQuery selects a page of the companies of an environment, by name.
type CompanyQuery struct {
	Environment domain.Environment
	// Search is any part of the name, ignoring case.
	Search string
	// Masked hides e-mail addresses in names from callers without people.pii.read.
	Masked bool
	// After is the name after which the page begins; nil for the first page.
	After *string
	Limit int
}

// CompanyList is a page of companies.
type CompanyList struct {
	Rows []Company
	More bool
}
