package manual

// DocPage is one page of the documentation.
type DocPage struct {
	// Slug is up to five lowercase segments; the slug of README.md is index.
	Slug, Title, Markdown string
	// Revision changes with the text.
	Revision uint64
}
