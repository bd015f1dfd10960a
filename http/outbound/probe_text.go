package outbound

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

var (
	// headerCharset finds the charset in a Content-Type header, also with single quotes or spaces.
	headerCharset = regexp.MustCompile(`(?i)\bcharset\s*=\s*["']?\s*([^\s"';,]+)`)
	// xmlCharset finds the encoding in an XML declaration.
	xmlCharset = regexp.MustCompile(`^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"'>]+)["']`)
)

// declared is the number of bytes at the start of a body that may declare its encoding.
const declared = 1024

// textOf returns the text of a body as UTF-8. The encoding comes from the byte order mark, or else from the
// Content-Type header. Otherwise it comes from the XML declaration or the meta element. The encoding standard defines
// this order. An unknown name is ignored. Bytes in an unknown encoding stay unchanged.
func textOf(contentType string, body []byte) []byte {
	label := ""
	if found := headerCharset.FindStringSubmatch(contentType); found != nil {
		_, label = charset.Lookup(found[1])
	}
	if found := xmlCharset.FindSubmatch(body[:min(len(body), declared)]); found != nil && label == "" {
		// A declaration that can be read as ASCII cannot be in UTF-16.
		if _, name := charset.Lookup(string(found[1])); !strings.HasPrefix(name, "utf-16") {
			label = name
		}
	}
	encoding, name, _ := charset.DetermineEncoding(body, "text/html; charset="+label)
	switch {
	case name == "utf-8", name == "replacement":
		return body
	case name == "windows-1252" && utf8.Valid(body): // windows-1252 is also the default if no name is declared.
		return body
	}
	if text, err := encoding.NewDecoder().Bytes(body); err == nil {
		return text
	}
	return body
}
