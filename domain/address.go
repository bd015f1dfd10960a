package domain

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxTargetURL limits the addresses that this service calls, in bytes.
const MaxTargetURL = 2048

// Targets defines the addresses that this service may call for its users: public ones, and the ranges of Allow. Allow
// is empty unless the operator configures it.
type Targets struct {
	Allow []netip.Prefix
}

// Permits reports whether an address may be called. An IPv4 address mapped into IPv6 is judged as IPv4. An address with
// a zone is never public, nor is an IPv6 address that embeds IPv4 in another way (translated, 6to4, Teredo).
func (t Targets) Permits(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap()
	if slices.ContainsFunc(t.Allow, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return true
	}
	if addr.Is4() {
		return !slices.ContainsFunc(closedIPv4(), func(p netip.Prefix) bool { return p.Contains(addr) })
	}
	return openIPv6().Contains(addr) && !slices.ContainsFunc(closedIPv6(), func(p netip.Prefix) bool { return p.Contains(addr) })
}

// closedIPv4 lists the ranges that IANA's registry of special addresses excludes from the public internet, and
// 168.63.129.16, a public address that serves Azure machines their configuration.
func closedIPv4() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"168.63.129.16/32", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	)
}

// openIPv6 is the only range from which public IPv6 addresses are assigned.
func openIPv6() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

// closedIPv6 lists the ranges within openIPv6 that are not public, among them 6to4 and Teredo.
func closedIPv6() []netip.Prefix {
	return prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
}

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// ParseAllow reads a list of addresses and prefixes, separated by commas or spaces.
func ParseAllow(text string) (Targets, error) {
	var targets Targets
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		prefix, err := netip.ParsePrefix(word)
		if err != nil {
			addr, addrErr := netip.ParseAddr(word)
			if addrErr != nil || addr.Zone() != "" {
				return Targets{}, fmt.Errorf("%q is neither an address nor a prefix", word)
			}
			prefix = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
		}
		targets.Allow = append(targets.Allow, prefix.Masked())
	}
	return targets, nil
}

// Check returns the reason why a URL may not be called, or nil. It does not resolve names: the dialer checks the
// resolved addresses.
func (t Targets) Check(raw string) *FieldError {
	refuse := func(why string) *FieldError {
		return &FieldError{Field: "url", Code: "url_not_public", Message: "The url must be a public http or https address: " + why + "."}
	}
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return refuse("none is given")
	case err != nil || strings.TrimSpace(raw) != raw:
		return refuse("it does not parse")
	case len(raw) > MaxTargetURL:
		return refuse(fmt.Sprintf("it is longer than %d bytes", MaxTargetURL))
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("its scheme is neither http nor https")
	case u.User != nil:
		return refuse("it holds credentials")
	case u.Hostname() == "":
		return refuse("it has no host")
	case !validPort(u.Port()) || strings.HasSuffix(u.Host, ":"):
		return refuse("its port is not a number from 1 to 65535")
	}
	if why := t.refuseHost(u.Hostname()); why != "" {
		return refuse(why)
	}
	return nil
}

func validPort(port string) bool {
	if port == "" {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// refuseHost returns the reason why a host is not public, "" if it may be.
func (t Targets) refuseHost(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		if !t.Permits(addr) {
			return "its address is loopback, private, link-local or reserved"
		}
		return ""
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	switch {
	case !validName(name):
		return "its host is no name and no address"
	case numeric(last):
		return "its host is an address in an unusual form"
	case len(t.Allow) > 0:
		return ""
	case len(labels) == 1, slices.Contains(innerDomains(), last), strings.HasSuffix(name, ".home.arpa"):
		return "its host is a name inside of a network"
	}
	return ""
}

// innerDomains lists the domains of the local machine and the local network.
func innerDomains() []string {
	return []string{"localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private"}
}

// validName accepts host names of ASCII letters, digits, hyphens and underscores.
func validName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// numeric reports whether some resolvers read a host with this last label as an IPv4 address: decimal, octal or
// hexadecimal.
func numeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	rest, hex := strings.CutPrefix(label, "0x")
	return hex && strings.Trim(rest, "0123456789abcdef") == ""
}

// ASCIIHost returns a host name as browsers send it (RFC 5891): labels with other characters become punycode. An ASCII
// host is returned unchanged, and so is a label that punycode cannot represent.
func ASCIIHost(host string) string {
	if ascii(host) || len(host) > utf8.UTFMax*MaxDomain || !utf8.ValidString(host) {
		return host
	}
	host = strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61", ".").Replace(strings.ToLower(host))
	labels := strings.Split(host, ".")
	for i, label := range labels {
		if !ascii(label) && len(label) <= utf8.UTFMax*maxLabel {
			labels[i] = "xn--" + punycode([]rune(label))
		}
	}
	return strings.Join(labels, ".")
}

// ASCIIAddress returns an e-mail address with its domain in ASCII. The part before the @ is unchanged.
func ASCIIAddress(address string) string {
	at := strings.LastIndexByte(address, '@') + 1
	return address[:at] + ASCIIHost(address[at:])
}

// ASCIIURL returns a whole URL in ASCII: the host becomes punycode; spaces, control characters and non-ASCII characters
// are percent-encoded. Existing percent-encoding is unchanged.
func ASCIIURL(address string) string {
	if before, rest, found := strings.Cut(address, "://"); found {
		end := strings.IndexAny(rest+"/", `/?#\`)
		user, host := "", rest[:end]
		if at := strings.LastIndexByte(host, '@') + 1; at > 0 {
			user, host = host[:at], host[at:]
		}
		address = before + "://" + user + ASCIIHost(host) + rest[end:]
	}
	var out strings.Builder
	for _, c := range []byte(address) {
		if c > ' ' && c < 0x7f {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// MaxDomain is the length of the longest domain name, in bytes (RFC 1035). It also limits the time of a conversion.
const MaxDomain = 253

// maxLabel is the length of the longest label of a domain name (RFC 1035).
const maxLabel = 63

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Parameters of punycode (RFC 3492).
const (
	punyBase, punyLeast, punyMost = 36, 1, 26
	punySkew, punyDamp            = 38, 700
	punyBias, punyFirst           = 72, 128
)

// punycode encodes a label (RFC 3492).
func punycode(label []rune) string {
	var out []byte
	for _, r := range label {
		if r < punyFirst {
			out = append(out, byte(r))
		}
	}
	plain := len(out)
	if plain > 0 {
		out = append(out, '-')
	}
	next, delta, bias := rune(punyFirst), 0, punyBias
	for done := plain; done < len(label); next++ {
		least := rune(utf8.MaxRune)
		for _, r := range label {
			if r >= next {
				least = min(least, r)
			}
		}
		delta += int(least-next) * (done + 1)
		next = least
		for _, r := range label {
			switch {
			case r < next:
				delta++
			case r == next:
				out = punyNumber(out, delta, bias)
				bias = punyAdapt(delta, done+1, done == plain)
				delta = 0
				done++
			}
		}
		delta++
	}
	return string(out)
}

// punyNumber appends a variable-length number.
func punyNumber(out []byte, number, bias int) []byte {
	for k := punyBase; ; k += punyBase {
		threshold := min(max(k-bias, punyLeast), punyMost)
		if number < threshold {
			return append(out, punyDigit(number))
		}
		out = append(out, punyDigit(threshold+(number-threshold)%(punyBase-threshold)))
		number = (number - threshold) / (punyBase - threshold)
	}
}

func punyDigit(n int) byte {
	if n < 26 {
		return byte('a' + n)
	}
	return byte('0' + n - 26)
}

func punyAdapt(delta, count int, first bool) int {
	if first {
		delta /= punyDamp
	} else {
		delta /= 2
	}
	delta += delta / count
	k := 0
	for ; delta > (punyBase-punyLeast)*punyMost/2; k += punyBase {
		delta /= punyBase - punyLeast
	}
	return k + (punyBase-punyLeast+1)*delta/(delta+punySkew)
}
