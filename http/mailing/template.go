package mailing

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	nethtml "golang.org/x/net/html"

	"svc/domain"
	"svc/domain/campaign"
)

// piece is a piece of a template: a text, a placeholder, or the address of a link.
type piece struct {
	campaign.Piece
	// link is the number of a link, counted from 1; 0 if the piece is not a link.
	link int
}

// template is a text of a campaign, cut into pieces.
type template struct {
	pieces []piece
	// html is true if values must be escaped.
	html bool
}

// maxLinks is the maximum number of target addresses of a campaign.
const maxLinks = 500

// linked collects the addresses of links, each once.
type linked struct{ urls []string }

// number returns the number of an address.
func (l *linked) number(address string) int {
	at := slices.Index(l.urls, address)
	if at < 0 {
		l.urls = append(l.urls, address)
		at = len(l.urls) - 1
	}
	return at + 1
}

// text adds a text with placeholders.
func (t *template) text(text string) {
	for _, one := range campaign.CutCampaignText(text) {
		t.pieces = append(t.pieces, piece{Piece: one})
	}
}

// has reports whether the template contains a placeholder.
func (t *template) has(placeholder string) bool {
	return slices.ContainsFunc(t.pieces, func(p piece) bool { return p.Placeholder == placeholder })
}

// render writes the template for a recipient; link returns the address of a link by its number.
func (t *template) render(to *campaign.Recipient, unsubscribe string, link func(number int) string) string {
	var out strings.Builder
	for _, p := range t.pieces {
		value := p.Text
		switch {
		case p.link > 0:
			value = link(p.link)
		case p.Placeholder == "":
			out.WriteString(value)
			continue
		case p.Placeholder == "unsubscribeUrl":
			value = unsubscribe
		default:
			if known := to.Value(p.Placeholder); known != "" {
				value = known
			}
		}
		if t.html {
			value = html.EscapeString(value)
		}
		out.WriteString(value)
	}
	return out.String()
}

// webAddress matches an address in a plain text.
var webAddress = regexp.MustCompile(`https?://[^\s<>"]+`)

// plainTemplate cuts a plain text.
func plainTemplate(text string, links *linked) *template {
	t := &template{}
	at := 0
	for _, found := range webAddress.FindAllStringIndex(text, -1) {
		address := withoutPunctuation(text[found[0]:found[1]])
		end := found[0] + len(address)
		if !tracked(address) {
			continue
		}
		t.text(text[at:found[0]])
		t.pieces = append(t.pieces, piece{link: links.number(address)})
		at = end
	}
	t.text(text[at:])
	return t
}

// withoutPunctuation returns an address without the punctuation that ends its sentence, and without the closing
// brackets that were opened before it.
func withoutPunctuation(address string) string {
	for {
		trimmed := strings.TrimRight(address, ".,;:!?'…’”»。，、！？；：）」』】》")
		for _, pair := range []string{"()", "[]", "{}"} {
			if strings.HasSuffix(trimmed, pair[1:]) && strings.Count(trimmed, pair[1:]) > strings.Count(trimmed, pair[:1]) {
				trimmed = trimmed[:len(trimmed)-1]
				break
			}
		}
		if trimmed == address {
			return address
		}
		address = trimmed
	}
}

// tracked reports whether clicks on an address are counted.
func tracked(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != "" && !strings.Contains(address, "{{")
}

// htmlTemplate cuts an HTML text. All parts except links stay unchanged. It inserts preheader after the beginning of
// the body, and end before its end.
func htmlTemplate(text, preheader, end string, links *linked) *template {
	t := &template{html: true}
	tokens := nethtml.NewTokenizer(strings.NewReader(text))
	var literal strings.Builder
	flush := func() {
		t.text(literal.String())
		literal.Reset()
	}
	begun, ended := false, false
	for tokens.Next() != nethtml.ErrorToken {
		raw := string(tokens.Raw())
		one := tokens.Token()
		switch {
		case one.Type == nethtml.EndTagToken && one.Data == "body" && !ended:
			literal.WriteString(end + raw)
			ended = true
		case one.Type == nethtml.StartTagToken && one.Data == "body" && !begun:
			literal.WriteString(raw + preheader)
			begun = true
		case isLink(&one):
			writeLink(t, &literal, flush, &one, links)
		default:
			literal.WriteString(raw)
		}
	}
	flush()
	if !begun && preheader != "" {
		head := &template{}
		head.text(preheader)
		t.pieces = append(head.pieces, t.pieces...)
	}
	if !ended {
		t.text(end)
	}
	return t
}

// isLink reports whether a tag is a link with counted clicks.
func isLink(tag *nethtml.Token) bool {
	return (tag.Type == nethtml.StartTagToken || tag.Type == nethtml.SelfClosingTagToken) && (tag.Data == "a" || tag.Data == "area") && tracked(hrefOf(tag))
}

func hrefOf(tag *nethtml.Token) string {
	for _, attribute := range tag.Attr {
		if attribute.Key == "href" {
			return strings.TrimSpace(attribute.Val)
		}
	}
	return ""
}

// writeLink writes a tag with the address of a link.
func writeLink(t *template, literal *strings.Builder, flush func(), tag *nethtml.Token, links *linked) {
	literal.WriteString("<" + tag.Data)
	for _, attribute := range tag.Attr {
		literal.WriteString(" " + attribute.Key + `="`)
		if attribute.Key == "href" {
			flush()
			t.pieces = append(t.pieces, piece{link: links.number(strings.TrimSpace(attribute.Val))})
		} else {
			literal.WriteString(html.EscapeString(attribute.Val))
		}
		literal.WriteString(`"`)
	}
	literal.WriteString(">")
}

// checkLinks returns the problems of the links of a content: an address must be the same for all recipients, and must
// lead to the web.
func checkLinks(content *campaign.Content) (problems []domain.FieldError) {
	tokens := nethtml.NewTokenizer(strings.NewReader(content.HTML))
	for {
		kind := tokens.Next()
		if kind == nethtml.ErrorToken {
			break
		}
		tag := tokens.Token()
		if problem := checkTag(&tag); problem != "" {
			problems = append(problems, domain.FieldError{Field: "html", Code: "invalid_link", Message: problem})
		}
	}
	if err := tokens.Err(); !errors.Is(err, io.EOF) {
		problems = append(problems, domain.FieldError{Field: "html", Code: "invalid_value", Message: "The HTML cannot be read."})
	}
	links := &linked{}
	htmlTemplate(content.HTML, "", "", links)
	plainTemplate(content.Text, links)
	if len(links.urls) > maxLinks {
		problems = append(problems, domain.FieldError{Field: "html", Code: "too_many", Message: fmt.Sprintf("A campaign leads to %d addresses at most.", maxLinks)})
	}
	return problems
}

// checkTag returns the reason why a tag cannot be in a message, "" if it can.
func checkTag(tag *nethtml.Token) string {
	if tag.Type != nethtml.StartTagToken && tag.Type != nethtml.SelfClosingTagToken {
		return ""
	}
	if slices.Contains([]string{"script", "iframe", "object", "embed", "form", "base"}, tag.Data) {
		return fmt.Sprintf("A message has no <%s>: mail programs remove it.", tag.Data)
	}
	href := hrefOf(tag)
	if tag.Data != "a" && tag.Data != "area" || href == "" {
		return ""
	}
	if strings.Contains(href, "{{") {
		if pieces := campaign.CutCampaignText(href); len(pieces) == 1 && pieces[0].Placeholder == "unsubscribeUrl" {
			return ""
		}
		return "The address of a link has no placeholder but {{unsubscribeUrl}} alone."
	}
	if parsed, err := url.Parse(href); err != nil || !slices.Contains([]string{"http", "https", "mailto", "tel", ""}, parsed.Scheme) || parsed.Scheme == "" && !strings.HasPrefix(href, "#") {
		return fmt.Sprintf("The link %q is no whole address that begins with https, http, mailto or tel.", href)
	}
	return ""
}
