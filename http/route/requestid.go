package route

import (
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// idPrefix begins the ids that the service itself makes.
const idPrefix = "req_"

// maxRequestID is the longest request id that is accepted from a caller.
const maxRequestID = 128

// requestID returns the caller's id if it is short and contains only safe characters, else a new one. Neither needs
// quoting in JSON, in a header or in a log.
func (h *Handler) requestID(r *http.Request, arrival time.Time) string {
	if sent := r.Header["X-Request-Id"]; len(sent) == 1 && plainID(sent[0]) {
		return sent[0]
	}
	if h.config.NewID != nil {
		return idPrefix + h.config.NewID(arrival)
	}
	return mintID(arrival)
}

func plainID(id string) bool {
	for i := range len(id) {
		isWord := id[i] >= 'a' && id[i] <= 'z' || id[i] >= 'A' && id[i] <= 'Z' || id[i] >= '0' && id[i] <= '9'
		if !isWord && !strings.ContainsRune("-_.:", rune(id[i])) {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}

// mintID returns the prefix and a ULID: the milliseconds of the arrival and 80 random bits. An id finds a request in
// the log. It grants nothing, so it need not be hard to guess.
func mintID(arrival time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(arrival))                   // 48 bits last until the year 10889
	binary.BigEndian.PutUint16(id[6:], uint16(rand.Uint32())) //nolint:forbidigo // an id of a request decides nothing
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())         //nolint:forbidigo // an id of a request decides nothing
	var text [len(idPrefix) + ulid.EncodedSize]byte
	_ = id.MarshalTextTo(text[copy(text[:], idPrefix):]) // The buffer has exactly the right size.
	return string(text[:])
}
