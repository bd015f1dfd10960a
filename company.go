package svc

import "time"

// Company is the people of an environment who belong to the same company.
type Company struct {
	Name string
	// People is how many they are, Events is how many events they have together.
	People, Events uint64
	// FirstSeenAt is when the first of them was seen first, LastSeenAt when any of them was seen last.
	FirstSeenAt, LastSeenAt time.Time
}

// CompanyQuery asks for a page of the companies of an environment, by name.
type CompanyQuery struct {
	Environment Environment
	// Search is any part of the name, in any case.
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
