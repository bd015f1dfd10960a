package settings

import (
	"fmt"
	"net/mail"
	"strings"

	"svc/domain"
	"svc/domain/campaign"
	"svc/http/outbound"
)

func setMailFrom(c *Config, value string) error {
	if parsed, err := mail.ParseAddress(value); err != nil || parsed.Address != value {
		return fmt.Errorf("%q is not an address such as svc@example.com", value)
	}
	c.MailFrom = domain.ASCIIAddress(value)
	return nil
}

// setMailDomains sets the domains of campaign senders.
func setMailDomains(c *Config, value string) error {
	for _, d := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !campaign.PlainAddress("svc@" + domain.ASCIIHost(d)) {
			return fmt.Errorf("%q is not the domain of an address", d)
		}
		c.MailDomains = append(c.MailDomains, domain.ASCIIHost(d))
	}
	if len(c.MailDomains) == 0 {
		_, domain, _ := strings.Cut(c.MailFrom, "@")
		c.MailDomains = campaign.MailDomains{domain}
	}
	return nil
}

func setMailServer(c *Config, value string) error {
	if value == "" {
		return nil
	}
	c.MailServer = domain.Secret(value)
	return outbound.CheckServer(value)
}
