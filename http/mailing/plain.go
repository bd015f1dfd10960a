package mailing

import (
	"strings"

	nethtml "golang.org/x/net/html"
)

// plainOf returns the text of an HTML message, for programs that show no HTML: its words, and the addresses of links
// after the link texts.
func plainOf(text string) string {
	tokens := nethtml.NewTokenizer(strings.NewReader(text))
	var out strings.Builder
	hidden, href := "", ""
	for tokens.Next() != nethtml.ErrorToken {
		one := tokens.Token()
		switch one.Type {
		case nethtml.TextToken:
			if hidden == "" {
				out.WriteString(one.Data)
			}
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			switch one.Data {
			case "head", "style", "title":
				hidden = one.Data
			case "a":
				href = hrefOf(&one)
			case "br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4":
				out.WriteString("\n")
			}
		case nethtml.EndTagToken:
			switch {
			case one.Data == hidden || hidden == "head" && one.Data == "head":
				hidden = ""
			case one.Data == "a" && href != "":
				out.WriteString(" (" + href + " )")
				href = ""
			}
		default: // Comments and doctypes have no text.
		}
	}
	return squeezed(out.String())
}

// squeezed removes spaces around lines and consecutive empty lines.
func squeezed(text string) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
