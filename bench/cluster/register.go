package main

// register follows a value that only one client changes, one change after the other, to increasing numbers. The zero
// value has the number 0 acknowledged.
//
// A change whose answer was lost may take effect at any later time, also after a later acknowledged change: it never
// ended, so nothing proves that it came first. Once it was read it has taken effect, and the next acknowledged change
// supersedes it.
type register struct {
	acked, sent int
	// open are the changes without an answer, seen the ones among them that were read.
	open, seen map[int]bool
}

// send records that a change is sent.
func (r *register) send(number int) {
	if r.open == nil {
		r.open, r.seen = map[int]bool{}, map[int]bool{}
	}
	r.sent = number
	r.open[number] = true
}

// acknowledge records that a change was answered with success.
func (r *register) acknowledge(number int) {
	delete(r.open, number)
	r.acked = number
	for old := range r.seen {
		delete(r.open, old)
	}
	clear(r.seen)
}

// allows reports whether a read may return a number: the last acknowledged one, unless an open one was read since, or
// an open one.
func (r *register) allows(number int) bool {
	if r.open[number] {
		r.seen[number] = true
		return true
	}
	return number == r.acked && len(r.seen) == 0
}
