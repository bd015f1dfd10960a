package accesslog

import (
	"net/netip"
	"strings"
	"time"
)

// apacheFormat is one of the formats that Apache and nginx write by default:
//
//	[host] address identity user [time] "request" status size ["referrer" "user agent" [more "X-Forwarded-For" more]]
type apacheFormat struct {
	// host is set if the host comes first, with or without a port.
	host bool
	// combined is set if the referrer and the user agent follow. More fields may come after them.
	combined bool
	// forwarded is set if the first quoted field after the user agent is X-Forwarded-For.
	forwarded bool
}

// timeLayout is the layout of the time between the brackets.
const timeLayout = "02/Jan/2006:15:04:05 -0700"

func (f apacheFormat) parse(line string) (parsed Line, forwarded, ok bool) {
	head, rest, ok := strings.Cut(line, " [")
	if !ok || !f.readHead(&parsed, head) {
		return Line{}, false, false
	}
	stamp, rest, ok := strings.Cut(rest, `] "`)
	if !ok {
		return Line{}, false, false
	}
	var err error
	if parsed.Time, err = time.Parse(timeLayout, stamp); err != nil {
		return Line{}, false, false
	}
	request, rest, ok := cutQuoted(rest)
	if !ok {
		return Line{}, false, false
	}
	parsed.Method, parsed.Target = splitRequest(request)
	if parsed.Status, rest, ok = cutStatus(rest); !ok {
		return Line{}, false, false
	}
	if !f.combined {
		parsed.Referrer, parsed.UserAgent = "-", "-"
		return parsed, false, isSize(rest)
	}
	size, rest, ok := strings.Cut(rest, ` "`)
	if !ok || !isSize(size) {
		return Line{}, false, false
	}
	if parsed.Referrer, rest, ok = cutQuoted(rest); !ok {
		return Line{}, false, false
	}
	if rest, ok = strings.CutPrefix(rest, ` "`); !ok {
		return Line{}, false, false
	}
	if parsed.UserAgent, rest, ok = cutQuoted(rest); !ok || rest != "" && rest[0] != ' ' {
		return Line{}, false, false
	}
	if f.forwarded {
		forwarded = readForwarded(&parsed, rest)
	}
	return parsed, forwarded, true
}

// readHead reads the part before the time. The user may contain spaces.
func (f apacheFormat) readHead(parsed *Line, head string) bool {
	if f.host {
		host, rest, ok := strings.Cut(head, " ")
		if !ok || !isHost(host) {
			return false
		}
		head = rest
	}
	address, names, ok := strings.Cut(head, " ")
	if !ok {
		return false
	}
	// If the identity is an address, the word before it is a host.
	identity, _, _ := strings.Cut(names, " ")
	if _, err := netip.ParseAddr(identity); err == nil {
		return false
	}
	_, err := netip.ParseAddr(address)
	parsed.Address = address
	return err == nil
}

// isHost reports whether a word is a host with or without a port. An address needs a port: without a port, the word may
// be the client named by a proxy.
func isHost(word string) bool {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_*:[]"
	_, err := netip.ParseAddr(word)
	return err != nil && word != "" && word != "-" && strings.Trim(word, characters) == ""
}

// readForwarded takes the address from the first quoted field, if it names one.
func readForwarded(parsed *Line, rest string) bool {
	_, rest, found := strings.Cut(rest, ` "`)
	if !found {
		return false
	}
	header, _, ok := cutQuoted(rest)
	if !ok {
		return false
	}
	client, ok := clientOf(header)
	if ok {
		parsed.Address = client
	}
	return ok
}

// isSize reports whether a text is the size of a response.
func isSize(text string) bool {
	return text != "" && (text == "-" || strings.Trim(text, "0123456789") == "")
}
