package occurrence

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/event"
)

// FingerprintVersion is the version of the grouping algorithm. It is part of every fingerprint, so groups of different
// versions never coincide. FormerFingerprint defines how issues of the previous version continue. A rule that this
// version added is marked added, and the former version skips it.
const (
	FingerprintVersion = 3
	formerVersion      = FingerprintVersion - 1
)

// groupFrames is the number of application frames that distinguish errors.
const groupFrames = 3

// groupMessage is the length of a message's prefix that distinguishes errors, in bytes.
const groupMessage = 1 << 10

// Fingerprint groups an occurrence: occurrences of one environment with the same fingerprint are one issue.
//
// The parts of an explicit fingerprint are used as they are; a part {{ default }} stands for the parts of the computed
// one. The computed one has the error's name, up to three application frames nearest to the throw (place and function,
// see framePart; no lines, no columns), and the masked message (MaskMessage), or the template of a message that has
// one. If no frame is of the application, the nearest three of any kind count. Frames of error reporting never count.
//
//	TypeError "cart 7 is empty" at add (https://a.example/app.js?v=3:1:20)
//	TypeError "cart 9 is empty" at add (https://b.example/app.js:2:77)
//
// have the same fingerprint. A sender can override this:
//
//	["payment", "{{ default }}"]  splits groups that are too coarse
//	["database unavailable"]      groups all errors that are sent with it
func Fingerprint(o *Occurrence, explicit []string) string {
	return digest(FingerprintVersion, o.group(), explicit)
}

// FormerFingerprint groups an occurrence by the former algorithm.
func FormerFingerprint(o *Occurrence, explicit []string) string {
	if o.Former != nil {
		return digest(formerVersion, *o.Former, explicit)
	}
	return digest(formerVersion, o.group(), explicit)
}

// Group holds the parts of an occurrence that the computed grouping reads.
type Group struct {
	Name, Message, Template string
	Frames                  []Frame
}

// group returns the occurrence as grouping reads it.
func (o *Occurrence) group() Group { return Group{o.Name, o.Message, o.Template, o.Frames} }

// digest computes the fingerprint of a group's parts for a version.
func digest(number int, group Group, explicit []string) string {
	var parts []string
	for _, part := range explicit[:min(len(explicit), MaxFingerprint)] {
		if isDefaultPart(part) {
			parts = group.appendParts(parts, number)
		} else {
			parts = append(parts, domain.Truncate(part, event.MaxURLBytes))
		}
	}
	if len(parts) == 0 {
		parts = group.appendParts(parts, number)
	}
	version := strconv.Itoa(number)
	h := sha256.New()
	h.Write([]byte("svc fingerprint " + version))
	var length [8]byte
	for _, part := range parts {
		// The lengths separate the parts: ("ab", "c") differs from ("a", "bc").
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return "v" + version + "-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// isDefaultPart reports whether a part of a fingerprint is {{ default }}.
func isDefaultPart(part string) bool {
	inner, begins := strings.CutPrefix(strings.TrimSpace(part), "{{")
	inner, ends := strings.CutSuffix(inner, "}}")
	return begins && ends && strings.TrimSpace(inner) == "default"
}

// appendParts appends the parts that a version of the algorithm reads.
func (g Group) appendParts(parts []string, version int) []string {
	parts = append(parts, g.Name)
	for _, frame := range groupingFrames(g.Frames) {
		parts = append(parts, framePart(frame, version))
	}
	if g.Template != "" {
		return append(parts, domain.Truncate(g.Template, groupMessage))
	}
	return append(parts, maskMessage(EngineMessage(domain.Truncate(g.Message, groupMessage)), version))
}

// groupingFrames returns the frames that distinguish errors: the application's, or all frames if
// none is the application's.
func groupingFrames(frames []Frame) []*Frame {
	var own, others []*Frame
	for i := range frames {
		switch frame := &frames[i]; {
		case frame.isReporter():
		case frame.InApp && len(own) < groupFrames:
			own = append(own, frame)
		case len(others) < groupFrames:
			others = append(others, frame)
		}
	}
	if len(own) > 0 {
		return own
	}
	return others
}

// IssueNumber identifies an issue with 64 bits of its environment and fingerprint. Items with the same number are on
// the same partition of the log.
func IssueNumber(environment uint64, fingerprint string) uint64 {
	h := sha256.New()
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], environment)
	h.Write(number[:])
	h.Write([]byte(fingerprint))
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// issuePrefix is the prefix of issue ids.
const issuePrefix = "iss_"

// IssueID returns the id of the issue with a number.
func IssueID(number uint64) string { return domain.NumberID(issuePrefix, number) }

// ParseIssueID is the inverse of IssueID.
func ParseIssueID(id string) (number uint64, ok bool) { return domain.ParseNumberID(issuePrefix, id) }
