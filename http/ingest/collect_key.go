package ingest

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"svc/domain"
	"svc/http/route"
)

// errNoKey refuses a request without a key.
var errNoKey = domain.Errorf(domain.CodeUnauthorized, "No ingest key was sent; send it as Authorization: Bearer <key>.")

// authenticate finds the collector of the one key that the request carries.
func (sub *submission) authenticate(writeKey string) error {
	key, err := ingestKey(sub.request, writeKey)
	if err != nil {
		return err
	}
	if err := sub.collect.current(); err != nil {
		return err
	}
	hash := domain.HashSecret(key)
	if sub.collector = sub.collect.Collectors.Collector(hash); sub.collector == nil {
		sub.named = sub.collect.Collectors.Former(hash)
		return domain.Errorf(domain.CodeUnauthorized, "The ingest key is unknown or revoked.")
	}
	sub.telemetry = sub.collect.telemetryOf(sub.collector.Environment.Number)
	if err := sub.reserved.Assign(sub.request.Context(), sub.collector.AppID); err != nil {
		return err
	}
	if origin := headerOf(sub.request, "Origin"); sub.collector.Kind == domain.KeyPublic && !domain.OriginAllowed(origin, sub.collector.Origins) {
		return &domain.Error{
			Code: domain.CodeForbidden, Reason: "origin_not_allowed",
			Message: "The application does not allow events from the origin " + origin + "; add it to allowedOrigins.",
		}
	}
	if sub.collector.Kind != domain.KeyPublic {
		sub.reserved.FreeBody()
	} else {
		// A secret key's connection is the customer's server, not the visitor.
		sub.userAgent, sub.remoteIP = domain.VisitorAgent(headerOf(sub.request, "User-Agent")), sub.collect.Proxies.of(sub.request)
		sub.reserved.BoundAddress(sub.remoteIP)
	}
	return nil
}

// Proxies are the networks of the hosts in front of the service that state the sender's address in a header. The
// headers of other hosts are not read.
type Proxies []netip.Prefix

// Address returns the address from which a request comes.
func (p Proxies) Address(r *http.Request) string { return p.of(r) }

func (p Proxies) has(ip netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(ip) })
}

// of returns the address from which a request comes: the address of the connection, unless a proxy made it. For a proxy
// it reads the first of X-Forwarded-For, Forwarded, Cf-Connecting-Ip and X-Real-Ip that the request has, and returns
// the last address there that is not a proxy. Each proxy appends the address of its peer to the first two, so the
// sender's own values come before it and are not read. The last proxy sets the other two, so a header with several
// values is not read.
func (p Proxies) of(r *http.Request) string {
	port, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		host, _, _ := strings.Cut(r.RemoteAddr, ":")
		return host
	}
	ip := port.Addr().Unmap()
	if len(p) == 0 || !p.has(ip) {
		return ip.String()
	}
	for _, header := range [...]string{"X-Forwarded-For", "Forwarded", "Cf-Connecting-Ip", "X-Real-Ip"} {
		hops := r.Header[header]
		switch {
		case len(hops) == 0:
			continue
		case header == "Forwarded":
			return p.last(ip, hops, forwardedFor).String()
		case header == "X-Forwarded-For":
			return p.last(ip, hops, parseHop).String()
		}
		if hop, ok := parseHop(strings.TrimSpace(hops[0])); ok && len(hops) == 1 {
			ip = hop
		}
		break
	}
	return ip.String()
}

// last returns the last address of lists that is not a proxy. ip is the address of the connection.
func (p Proxies) last(ip netip.Addr, hops []string, parse func(string) (netip.Addr, bool)) netip.Addr {
	for n := len(hops) - 1; n >= 0; n-- {
		for rest, last := hops[n], ""; rest != ""; {
			rest, last = cutLast(rest)
			hop, ok := parse(last)
			if !ok {
				return ip
			}
			if ip = hop; !p.has(ip) {
				return ip
			}
		}
	}
	return ip
}

// forwardedFor reads the address of an element of Forwarded (RFC 7239).
func forwardedFor(element string) (netip.Addr, bool) {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "for") {
			return parseHop(strings.Trim(value, `"`))
		}
	}
	return netip.Addr{}, false
}

// cutLast divides a list at its last comma.
func cutLast(list string) (rest, last string) {
	at := strings.LastIndexByte(list, ',')
	if at < 0 {
		return "", strings.TrimSpace(list)
	}
	return list[:at], strings.TrimSpace(list[at+1:])
}

// parseHop reads an address as proxies write it; some add a port.
func parseHop(text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		port, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		ip = port.Addr()
	}
	return ip.Unmap().WithZone(""), true
}

// challenge sets the header that describes how to send a key.
func (sub *submission) challenge(err error) {
	switch {
	case errors.Is(err, errNoKey):
		sub.writer.Header().Set("Www-Authenticate", route.ChallengeNone)
	case domain.CodeOf(err) == domain.CodeUnauthorized:
		sub.writer.Header().Set("Www-Authenticate", route.ChallengeInvalid)
	}
}

// ingestKey returns the one ingest key of a request. The request may contain it, in this order: in the Authorization
// header as a bearer token or as the user or password of basic credentials, in X-SVC-Key or X-API-Key, in the query as
// key, or in the body as writeKey. Two different keys are refused, and an access token is refused too.
func ingestKey(r *http.Request, writeKey string) (string, error) {
	var found string
	for _, key := range [...]string{
		authorizationKey(headerOf(r, "Authorization")), headerOf(r, "X-Svc-Key"), headerOf(r, "X-Api-Key"), queryKey(r), writeKey,
	} {
		switch {
		case key == "" || key == found:
		case found == "":
			found = key
		default:
			return "", domain.Errorf(domain.CodeUnauthorized, "The request carries two different ingest keys.")
		}
	}
	switch {
	case found == "":
		return "", errNoKey
	case isAccessToken(found):
		return "", domain.Errorf(domain.CodeUnauthorized, "This is an access token; events are sent with an ingest key (svc_pub_… or svc_sec_…).")
	}
	return found, nil
}

// keyPrefix is the number of bytes of a compressed body that are inflated to find a key.
const keyPrefix = 64 << 10

// authenticateInside finds the collector of a request with a key in the body.
func (sub *submission) authenticateInside() error {
	text, err := sub.prefix()
	if err != nil {
		return err
	}
	return sub.authenticate(writeKeyOf(text))
}

// prefix returns the beginning of the inflated body. It inflates only a prefix, so that requests without a valid key
// cost little.
func (sub *submission) prefix() ([]byte, error) {
	if sub.encoding() == "" {
		return sub.body, nil
	}
	text, err := sub.inflate(keyPrefix, 0, keyPrefix)
	if domain.CodeOf(err) == domain.CodeTooLarge {
		return text[:keyPrefix], nil
	}
	return text, err
}

// writeKeyOf finds the member writeKey of a JSON object, which may be cut off.
func writeKeyOf(text []byte) string {
	decoder := stdjson.NewDecoder(bytes.NewReader(text))
	if first, err := decoder.Token(); err != nil || first != stdjson.Delim('{') {
		return ""
	}
	for {
		name, err := decoder.Token()
		if err != nil {
			return ""
		}
		var value stdjson.RawMessage
		if decoder.Decode(&value) != nil {
			return ""
		}
		if name == "writeKey" {
			return textOf(value)
		}
	}
}

// headerOf returns the first value of a header. The name must be in the canonical form, which
// http.Header.Get would compute for every request.
func headerOf(r *http.Request, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// authorizationKey reads the Authorization header.
func authorizationKey(header string) string {
	scheme, value, _ := strings.Cut(header, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		return strings.TrimSpace(value)
	case strings.EqualFold(scheme, "Basic"):
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
		if err != nil {
			return ""
		}
		user, password, _ := strings.Cut(string(decoded), ":")
		if strings.HasPrefix(password, "svc_") { // The documentation describes this form for Prometheus.
			return password
		}
		return user
	}
	return ""
}

// queryKey reads the key of a beacon, which can set no header.
func queryKey(r *http.Request) string {
	if r.URL.RawQuery == "" {
		return ""
	}
	query := r.URL.Query()
	if key := query.Get("key"); key != "" {
		return key
	}
	return query.Get("writeKey")
}

// isAccessToken reports whether a secret has the prefix of a token of any kind.
func isAccessToken(secret string) bool {
	return slices.ContainsFunc(domain.TokenKind("").Values(), func(kind domain.TokenKind) bool { return strings.HasPrefix(secret, kind.Prefix()) })
}

// Authority returns the permissions of a request's ingest key, for surfaces that accept no items. It accepts a key that
// the node knows, even if the node receives no changes now. It refuses an unknown key only if its list is current.
type Authority struct {
	Collectors Collectors
	// Current reports whether the node's list of keys is current; nil means that it always is.
	Current func() bool
}

// Collector returns the permissions of the one key of a request; inside is a key in its body, empty if it has none. It
// fails with unauthorized, and with forbidden if a page of a foreign origin sends a public key.
func (a Authority) Collector(r *http.Request, inside string) (*domain.Collector, error) {
	key, err := ingestKey(r, inside)
	if err != nil {
		return nil, err
	}
	return a.Judge(r, domain.HashSecret(key))
}

// Judge is Collector for a key of which only the hash is known.
func (a Authority) Judge(r *http.Request, hash [32]byte) (*domain.Collector, error) {
	collector := a.Collectors.Collector(hash)
	if collector == nil && a.Current != nil && !a.Current() {
		return nil, domain.Unavailable("The list of ingest keys", collectRetry)
	}
	if collector == nil {
		return nil, domain.Errorf(domain.CodeUnauthorized, "The ingest key is unknown or revoked.")
	}
	if origin := headerOf(r, "Origin"); collector.Kind == domain.KeyPublic && !domain.OriginAllowed(origin, collector.Origins) {
		return nil, &domain.Error{
			Code: domain.CodeForbidden, Reason: "origin_not_allowed",
			Message: "The application does not allow requests from the origin " + origin + "; add it to allowedOrigins.",
		}
	}
	return collector, nil
}

// Key returns the one ingest key of a request; inside is a key in its body.
func (a Authority) Key(r *http.Request, inside string) (string, error) { return ingestKey(r, inside) }
