package settings

import (
	"fmt"
	"net/mail"
	"strings"

	"svc"
	"svc/http/outbound"
)

func setMailFrom(c *Config, value string) error {
	if parsed, err := mail.ParseAddress(value); err != nil || parsed.Address != value {
		return fmt.Errorf("%q is not an address such as svc@example.com", value)
	}
	c.MailFrom = svc.ASCIIAddress(value)
	return nil
}

// setMailDomains sets the domains of campaign senders.
func setMailDomains(c *Config, value string) error {
	for _, domain := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !svc.PlainAddress("svc@" + svc.ASCIIHost(domain)) {
			return fmt.Errorf("%q is not the domain of an address", domain)
		}
		c.MailDomains = append(c.MailDomains, svc.ASCIIHost(domain))
	}
	if len(c.MailDomains) == 0 {
		_, domain, _ := strings.Cut(c.MailFrom, "@")
		c.MailDomains = svc.MailDomains{domain}
	}
	return nil
}

func setMailServer(c *Config, value string) error {
	if value == "" {
		return nil
	}
	c.MailServer = svc.Secret(value)
	return outbound.CheckServer(value)
}
