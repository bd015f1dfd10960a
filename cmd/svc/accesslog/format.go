package accesslog

import (
	"bytes"
	"net/netip"
	"strings"
)

// Format is a format of access logs.
type Format struct {
	Name string
	// parser returns the parser of one file.
	parser func() parser
	// forwarded is set if another field than the peer names the client. Such a format is not detected in a file that
	// never has this field.
	forwarded bool
}

// parser reads a line without its line break. Clients that proxies name are reported as forwarded.
type parser func(line string) (parsed Line, forwarded, ok bool)

// Formats returns the formats. If several formats read equally many lines of a file, the first of them is detected.
func Formats() []Format {
	apache := func(f apacheFormat) func() parser { return func() parser { return f.parse } }
	return []Format{
		{"combined_xff", apache(apacheFormat{combined: true, forwarded: true}), true},
		{"combined", apache(apacheFormat{combined: true}), false},
		{"common", apache(apacheFormat{}), false},
		{"vhost_combined_xff", apache(apacheFormat{host: true, combined: true, forwarded: true}), true},
		{"vhost_combined", apache(apacheFormat{host: true, combined: true}), false},
		{"vhost_common", apache(apacheFormat{host: true}), false},
		{"caddy", func() parser { return parseCaddy }, false},
		{"nginx_json", func() parser { return parseJSON }, false},
		{"cloudfront", func() parser { return (&w3c{tabs: true}).parse }, false},
		{"iis", func() parser { return (&w3c{}).parse }, false},
		{"alb", func() parser { return parseALB }, false},
	}
}

// Names returns the names of the formats.
func Names() (names []string) {
	for _, format := range Formats() {
		names = append(names, format.Name)
	}
	return names
}

// Named returns a format by its name.
func Named(name string) (Format, bool) {
	for _, format := range Formats() {
		if format.Name == name {
			return format, true
		}
	}
	return Format{}, false
}

// Parser returns a function that reads the lines of a file in this format. The caller passes the lines in their order
// and without their line breaks. ok reports whether a line has the format. Results do not share memory with lines.
func (f Format) Parser() func(line []byte) (parsed Line, ok bool) {
	parse := f.parser()
	return func(line []byte) (Line, bool) {
		parsed, _, ok := parse(clean(line))
		if !ok {
			return Line{}, false
		}
		return parsed, true
	}
}

// clean returns a line without a byte order mark and without a carriage return.
func clean(line []byte) string {
	return string(bytes.TrimPrefix(bytes.TrimSuffix(line, []byte{'\r'}), []byte("\uFEFF")))
}

// Detector finds the format of a file by its first lines.
type Detector struct {
	parsers         []parser
	read, forwarded []int
	lines           int
}

// detectLines is the number of lines that a detector reads.
const detectLines = 1000

// NewDetector returns a detector that has seen no line.
func NewDetector() *Detector {
	formats := Formats()
	d := &Detector{read: make([]int, len(formats)), forwarded: make([]int, len(formats))}
	for _, format := range formats {
		d.parsers = append(d.parsers, format.parser())
	}
	return d
}

// Add reads the next line, and reports whether further lines are needed.
func (d *Detector) Add(line []byte) bool {
	text := clean(line)
	for i, parse := range d.parsers {
		parsed, forwarded, ok := parse(text)
		if ok && !parsed.Time.IsZero() {
			d.read[i]++
		}
		if forwarded {
			d.forwarded[i]++
		}
	}
	d.lines++
	return d.lines < detectLines
}

// Format returns the format that reads most of the lines. ok is false if no format reads any line.
func (d *Detector) Format() (found Format, ok bool) {
	most := 0
	for i, format := range Formats() {
		if d.read[i] > most && (!format.forwarded || d.forwarded[i] > 0) {
			found, most = format, d.read[i]
		}
	}
	return found, most > 0
}

// addressOf reads an IP address. A port may follow the address.
func addressOf(text string) (address string, ok bool) {
	text = strings.TrimSpace(text)
	if _, err := netip.ParseAddr(text); err == nil {
		return text, true
	}
	if both, err := netip.ParseAddrPort(text); err == nil {
		return both.Addr().String(), true
	}
	inner, found := strings.CutPrefix(text, "[")
	if inner, closed := strings.CutSuffix(inner, "]"); found && closed {
		_, err := netip.ParseAddr(inner)
		return inner, err == nil
	}
	return "", false
}

// clientOf returns the client of an X-Forwarded-For header. This is its first public address, or else its first
// address.
func clientOf(header string) (address string, ok bool) {
	for one := range strings.SplitSeq(header, ",") {
		found, valid := addressOf(one)
		if !valid {
			continue
		}
		if parsed := netip.MustParseAddr(found); parsed.IsGlobalUnicast() && !parsed.IsPrivate() {
			return found, true
		}
		if address == "" {
			address = found
		}
	}
	return address, address != ""
}
