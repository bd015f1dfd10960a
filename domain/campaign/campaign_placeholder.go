package campaign

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"svc/domain"
)

// Placeholders lists the names that may stand in double braces for data of the recipient. A fallback for
// unknown data may follow after a bar, as in {{name|friend}}.
func Placeholders() []string { return []string{"name", "firstName", "email", "unsubscribeUrl"} }

// placeholder matches a text in double braces.
var placeholder = regexp.MustCompile(`\{\{\s*([^{}|]*?)\s*(?:\|([^{}]*))?\}\}`)

// Piece is a piece of a text: literal text or a placeholder.
type Piece struct {
	// Text is the literal text, or the fallback of the placeholder.
	Text        string
	Placeholder string
}

// CutCampaignText splits a text at its placeholders.
func CutCampaignText(text string) (pieces []Piece) {
	at := 0
	for _, found := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		if found[0] > at {
			pieces = append(pieces, Piece{Text: text[at:found[0]]})
		}
		piece := Piece{Placeholder: text[found[2]:found[3]]}
		if found[4] >= 0 {
			piece.Text = strings.TrimSpace(text[found[4]:found[5]])
		}
		pieces, at = append(pieces, piece), found[1]
	}
	if at < len(text) {
		pieces = append(pieces, Piece{Text: text[at:]})
	}
	return pieces
}

// checkPlaceholders returns a problem for every unknown placeholder of a text.
func checkPlaceholders(field, text string) (problems []domain.FieldError) {
	for _, piece := range CutCampaignText(text) {
		if piece.Placeholder != "" && !slices.Contains(Placeholders(), piece.Placeholder) {
			problems = append(problems, domain.FieldError{
				Field: field, Code: "unknown_placeholder", Message: fmt.Sprintf("There is no placeholder %q.", piece.Placeholder), Allowed: Placeholders(),
			})
		}
	}
	return problems
}

// Recipient is the recipient of a message.
type Recipient struct {
	// Number is the recipient's place in the campaign, from 0.
	Number  uint32
	Visitor uint64
	Address string
	Name    string
}

// Value returns the value of a placeholder about the recipient. It is "" if the value is unknown or the placeholder is
// not about a person.
func (r *Recipient) Value(placeholder string) string {
	switch placeholder {
	case "name":
		return r.Name
	case "firstName":
		first, _, _ := strings.Cut(r.Name, " ")
		return first
	case "email":
		return r.Address
	}
	return ""
}
