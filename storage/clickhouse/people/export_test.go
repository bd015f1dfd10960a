package people

// LookAmong has pages be looked for among few visitors, as in an environment that has many more.
func (db *Store) LookAmong(first, most int) { db.bounds = bounds{first, most} }
