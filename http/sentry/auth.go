package sentry

import (
	"net/url"
	"strings"
)

// Credentials are the key and the project that a request names. Key is empty if it names none; Conflict is true if two
// parts of the request name different ones.
type Credentials struct {
	Key      string
	Project  string
	Conflict bool
}

// Authenticate reads the key of a request from the query (sentry_key), the headers
// X-Sentry-Auth and Authorization (Sentry …), and the DSN of the envelope's header.
func Authenticate(query url.Values, auth []string, dsn string) Credentials {
	var found Credentials
	found.add(query.Get("sentry_key"))
	for _, header := range auth {
		found.add(headerKey(header))
	}
	if key, project, ok := ParseDSN(dsn); ok {
		found.add(key)
		found.Project = project
	}
	return found
}

func (c *Credentials) add(key string) {
	switch {
	case key == "" || key == c.Key:
	case c.Key == "":
		c.Key = key
	default:
		c.Conflict = true
	}
}

// headerKey reads `Sentry sentry_version=7, sentry_key=…`. Values may be quoted.
func headerKey(header string) string {
	scheme, rest, found := strings.Cut(strings.TrimSpace(header), " ")
	if !found || !strings.EqualFold(scheme, "sentry") {
		return ""
	}
	for _, pair := range strings.Split(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.TrimSpace(name) == "sentry_key" {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// ParseDSN reads the key and the project of https://<key>@<host>/<path>/<project>; ok is false if
// the text is not a DSN.
func ParseDSN(dsn string) (key, project string, ok bool) {
	if dsn == "" {
		return "", "", false
	}
	parsed, err := url.Parse(dsn)
	if err != nil || parsed.User == nil || parsed.User.Username() == "" {
		return "", "", false
	}
	path := strings.TrimRight(parsed.Path, "/")
	return parsed.User.Username(), path[strings.LastIndexByte(path, '/')+1:], true
}
