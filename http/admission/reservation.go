package admission

import (
	"context"
)

// Reservation is the share of a Control's pools that one request holds.
type Reservation struct {
	control *Control
	app     string
	// address is the bounded address, empty for none.
	address string
	// from is the address with bounded open bodies, empty for none.
	from string
	// reading, working and sending are the bytes that it holds in each pool; place and processor report whether it
	// holds these.
	reading, working, sending int64
	place, processor          bool
	// held is true if it waited because its application sent more than its part, heldAddress if its address did.
	held, heldAddress bool
}

// Reserve returns the reservation of a request of an application. It is empty at first.
func (c *Control) Reserve(app string) Reservation { return Reservation{control: c, app: app} }

// BoundAddress counts the request for the public address from which it comes.
func (r *Reservation) BoundAddress(address string) { r.address = boundedAddress(address) }

// BoundBody counts the body of the request, including the bytes that were read, for the address from which it comes.
func (r *Reservation) BoundBody(address string) error {
	if r.control == nil || r.from != "" {
		return nil
	}
	from := hostsOf(address)
	if !r.control.bodies.take(from, 0, r.reading) {
		return errBusy()
	}
	r.from = from
	return nil
}

// FreeBody undoes BoundBody: a server with a secret key may have as many open bodies as its application.
func (r *Reservation) FreeBody() {
	if r.from != "" {
		r.control.bodies.give(r.from, r.reading)
		r.from = ""
	}
}

// Held reports whether the request waited because its application, or its address, sent more than its part.
func (r *Reservation) Held() (byApp, byAddress bool) { return r.held, r.heldAddress }

// Assign sets the application of the request, which is known late if the body contains the key. It charges the bytes
// that were read until then to the application.
func (r *Reservation) Assign(ctx context.Context, app string) error {
	if r.control == nil || r.app == app {
		return nil
	}
	control, read, from := r.control, r.reading, r.from
	r.Release()
	r.control, r.app = control, app
	if err := r.ForBody(ctx, read); err != nil || from == "" {
		return err
	}
	return r.BoundBody(from)
}

// ForBody takes bytes for a body as it came.
func (r *Reservation) ForBody(ctx context.Context, bytes int64) error {
	if r.control == nil {
		return nil
	}
	bytes = min(bytes, r.control.reading.budget-r.reading)
	if bytes <= 0 {
		return nil
	}
	if r.from != "" && !r.control.bodies.take(r.from, r.reading, bytes) {
		return errBusy()
	}
	err := r.control.reading.acquire(ctx, r.app, &claim{bytes: bytes})
	switch {
	case err == nil:
		r.reading += bytes
	case r.from != "":
		r.control.bodies.give(r.from, bytes)
	}
	return err
}

// ForWork takes bytes for the decoded request and, if place is set, a place and a processor.
func (r *Reservation) ForWork(ctx context.Context, bytes int64, place bool) error {
	if r.control == nil {
		return nil
	}
	bytes = min(bytes, r.control.working.budget)
	if err := r.control.working.acquire(ctx, r.app, &claim{bytes: bytes, place: place}); err != nil {
		return err
	}
	r.working, r.place = bytes, place
	if !place || r.control.processors == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, admissionTime)
	defer cancel()
	if err := r.control.processors.Take(ctx); err != nil {
		return errBusy()
	}
	r.processor = true
	return nil
}

// Grow takes more bytes for the decoded request.
func (r *Reservation) Grow(bytes int64) error {
	if r.control == nil {
		return nil
	}
	bytes = min(bytes, r.control.working.budget-r.working)
	if bytes <= 0 {
		return nil
	}
	if !r.control.working.grow(r.app, bytes) {
		return errBusy()
	}
	r.working += bytes
	return nil
}

// ReleaseProcessor returns the place and the processor.
func (r *Reservation) ReleaseProcessor() {
	if r.processor {
		r.control.processors.Give()
		r.processor = false
	}
	if r.place {
		r.control.working.release(r.app, 0, true)
		r.place = false
	}
}

// Release returns everything.
func (r *Reservation) Release() {
	if r.control != nil {
		r.ReleaseProcessor()
		if r.sending > 0 {
			r.control.sending.release(r.app, r.sending, false)
		}
		if r.working > 0 {
			r.control.working.release(r.app, r.working, false)
		}
		r.FreeBody()
		if r.reading > 0 {
			r.control.reading.release(r.app, r.reading, false)
		}
	}
	*r = Reservation{}
}

// ForLog waits until a number of bytes may go to the log, to the partitions of a shard.
func (r *Reservation) ForLog(ctx context.Context, shard int, bytes int64) error {
	if r.control == nil {
		return nil
	}
	held, err := r.control.throttle.wait(ctx, r.app, shard)
	if r.held = held; err != nil {
		return err
	}
	if r.address != "" {
		if r.heldAddress, err = r.control.addressPace.wait(ctx, r.address, bytes); err != nil {
			return err
		}
	}
	want := &claim{bytes: bytes}
	paced, err := r.control.pace.wait(ctx, r.app, bytes)
	if r.held = held || paced; err != nil {
		return err
	}
	if paced {
		want.share = paceShare
	}
	if err := r.control.sending.acquire(ctx, r.app, want); err != nil {
		return err
	}
	r.sending = bytes
	if r.control.sent != nil {
		r.control.sent.add(r.app, bytes)
	}
	if r.address != "" && r.control.fromAddresses != nil {
		r.control.fromAddresses.add(r.address, r.app, bytes)
	}
	return nil
}
