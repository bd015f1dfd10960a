package outbound

import (
	"encoding/base64"
	"fmt"
	"net/mail"
	"strings"
)

// These constants are lengths in mail headers, in bytes without the line break.
const (
	// headerLine is the length that lines have if they can be folded (RFC 5322).
	headerLine = 78
	// encodedWord is the longest encoded word (RFC 2047).
	encodedWord = 75
	// longWord is the longest word that is written without encoding. A word cannot be folded.
	longWord = 60
)

// Header is the header of a message or of a part, in its wire form.
type Header struct{ strings.Builder }

// Add adds a field of ASCII that this service wrote. Its lines are folded at spaces.
func (h *Header) Add(name, value string) {
	width := 0
	for i, word := range strings.Split(name+": "+value, " ") {
		if i > 0 {
			if i > 1 && width+1+len(word) > headerLine {
				h.WriteString("\r\n")
				width = 0
			}
			h.WriteByte(' ')
			width++
		}
		h.WriteString(word)
		width += len(word)
	}
	h.WriteString("\r\n")
}

// Text adds a field that holds a text of a user.
func (h *Header) Text(name, text string) {
	text = oneLine(text)
	if !printable(text) {
		text = encodedWords(text, headerLine-len(name+": "), "")
	}
	h.Add(name, text)
}

// Address adds a field that holds an address and, if it is known, a display name.
func (h *Header) Address(name string, address mail.Address) {
	shown := oneLine(address.Name)
	switch {
	case shown == "":
	case printable(shown):
		shown = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(shown) + `" `
	default:
		shown = encodedWords(shown, headerLine-len(name+": "), "\"#$%&'(),.:;<>@[\\]^`{|}~") + " "
	}
	h.Add(name, shown+"<"+address.Address+">")
}

// oneLine replaces each run of white space with a single space. A line break would end a header.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// printable reports whether a text can be written and folded without encoding.
func printable(text string) bool {
	word := 0
	for _, c := range []byte(text) {
		word++
		switch {
		case c == ' ':
			word = 0
		case c < ' ', c > '~', word > longWord:
			return false
		}
	}
	return !strings.Contains(text, "=?")
}

// encodedWords returns a text as encoded words, separated by spaces. The first word has at most first bytes. The
// encoding Q leaves letters, digits and all characters that special does not list.
func encodedWords(text string, first int, special string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	quoted := 0
	for _, c := range []byte(text) {
		quoted += len(quotedByte(c, special))
	}
	const frame = len("=?utf-8?q?" + "?=")
	kind, encode := "q", func(part string) (out string) {
		for _, c := range []byte(part) {
			out += quotedByte(c, special)
		}
		return out
	}
	if quoted > base64.StdEncoding.EncodedLen(len(text)) {
		kind, encode = "b", func(part string) string { return base64.StdEncoding.EncodeToString([]byte(part)) }
	}
	var words []string
	room, part := min(first, encodedWord)-frame, ""
	for _, r := range text {
		if part != "" && len(encode(part+string(r))) > room {
			words = append(words, "=?utf-8?"+kind+"?"+encode(part)+"?=")
			room, part = encodedWord-frame, ""
		}
		part += string(r)
	}
	return strings.Join(append(words, "=?utf-8?"+kind+"?"+encode(part)+"?="), " ")
}

// quotedByte returns a byte in the encoding Q.
func quotedByte(c byte, special string) string {
	switch {
	case c == ' ':
		return "_"
	case c < ' ', c > '~', c == '=', c == '?', c == '_', strings.IndexByte(special, c) >= 0:
		return fmt.Sprintf("=%02X", c)
	}
	return string(c)
}
