package grain

// Random is where ids and secrets come from.
type Random struct {
	// ID returns a new sortable id with a prefix, for example app_.
	ID func(prefix string) string
	// Bytes returns n random bytes.
	Bytes func(n int) []byte
}
