package svc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CampaignPlaceholders are the words that stand in double braces for something of the recipient. After a bar follows what
// stands there where it is not known, as in {{name|friend}}.
func CampaignPlaceholders() []string { return []string{"name", "firstName", "email", "unsubscribeUrl"} }

// placeholder matches what stands in double braces.
var placeholder = regexp.MustCompile(`\{\{\s*([^{}|]*?)\s*(?:\|([^{}]*))?\}\}`)

// CampaignPiece is a piece of a text: literally, or a placeholder.
type CampaignPiece struct {
	// Text is literal, or what stands where the placeholder's value is not known.
	Text        string
	Placeholder string
}

// CutCampaignText cuts a text at its placeholders.
func CutCampaignText(text string) (pieces []CampaignPiece) {
	at := 0
	for _, found := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		if found[0] > at {
			pieces = append(pieces, CampaignPiece{Text: text[at:found[0]]})
		}
		piece := CampaignPiece{Placeholder: text[found[2]:found[3]]}
		if found[4] >= 0 {
			piece.Text = strings.TrimSpace(text[found[4]:found[5]])
		}
		pieces, at = append(pieces, piece), found[1]
	}
	if at < len(text) {
		pieces = append(pieces, CampaignPiece{Text: text[at:]})
	}
	return pieces
}

// checkPlaceholders returns the placeholders of a text that there are not.
func checkPlaceholders(field, text string) (problems []FieldError) {
	for _, piece := range CutCampaignText(text) {
		if piece.Placeholder != "" && !slices.Contains(CampaignPlaceholders(), piece.Placeholder) {
			problems = append(problems, FieldError{
				Field: field, Code: "unknown_placeholder", Message: fmt.Sprintf("There is no placeholder %q.", piece.Placeholder), Allowed: CampaignPlaceholders(),
			})
		}
	}
	return problems
}

// CampaignRecipient is whom a message goes to.
type CampaignRecipient struct {
	// Number is the recipient's place in the campaign, from 0.
	Number  uint32
	Visitor uint64
	Address string
	Name    string
}

// Value returns the value of a placeholder about the recipient, "" where it is not known or is none of a person.
func (r *CampaignRecipient) Value(placeholder string) string {
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
