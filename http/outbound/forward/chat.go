package forward

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/destination"
)

// chat posts a message to an incoming webhook of Slack, or of a chat that accepts the same format
// (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). Its address is its credential.
type chat struct{}

func (chat) batch() int { return 1 }

func (chat) send(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome {
	c := request.Items[0].Conversion
	line := fmt.Sprintf("*%s*", plainText(c.Name))
	if c.Value != nil {
		line += fmt.Sprintf(" — %s %s", strconv.FormatFloat(*c.Value, 'f', -1, 64), plainText(c.Currency))
	}
	details := []string{plainText(c.SourceEvent), plainText(c.Environment)}
	for _, word := range []string{c.Context.Path, c.Context.Source, c.Context.Campaign.Name, c.Context.Country} {
		if word != "" {
			details = append(details, plainText(word))
		}
	}
	section := func(kind, text string) map[string]any {
		inner := map[string]string{"type": "mrkdwn", "text": text}
		if kind == "context" {
			return map[string]any{"type": kind, "elements": []any{inner}}
		}
		return map[string]any{"type": kind, "text": inner}
	}
	encoded, logged, err := encode(map[string]any{
		"text":   strings.ReplaceAll(line, "*", ""),
		"blocks": []any{section("section", line), section("context", strings.Join(details, " · "))},
	})
	if err != nil {
		return outcomes(1, destination.DispatchOutcome{Error: err.Error()})
	}
	made := &call{url: request.Credential.Secret.Reveal(), header: jsonHeader(), body: encoded, logged: logged, secrets: []domain.Secret{request.Credential.Secret}}
	outcome, _ := s.post(ctx, made)
	outcome.Request = "POST •••\n\n" + string(logged)
	return []destination.DispatchOutcome{outcome}
}

// plainText escapes the markup of chats and cuts texts that are too long to read.
func plainText(text string) string {
	const longest = 200
	if cut := []rune(text); len(cut) > longest {
		text = string(cut[:longest]) + "…"
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "\n", " ").Replace(text)
}
