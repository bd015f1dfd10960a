package domain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ExclusionKind is the criterion that distinguishes internal traffic from visitors.
type ExclusionKind string

// The kinds.
const (
	ExcludeAddress   ExclusionKind = "address"
	ExcludeHostname  ExclusionKind = "hostname"
	ExcludePath      ExclusionKind = "path"
	ExcludeUserAgent ExclusionKind = "user_agent"
)

// Values lists the kinds.
func (ExclusionKind) Values() []ExclusionKind {
	return []ExclusionKind{ExcludeAddress, ExcludeHostname, ExcludePath, ExcludeUserAgent}
}

// Limits of exclusions.
const (
	MaxExclusions     = 200
	MaxExclusionText  = 200 // bytes
	exclusionIDLength = 16
)

// Exclusion is one rule that drops items of clients.
type Exclusion struct {
	ID    string        `json:"id"`
	Kind  ExclusionKind `json:"kind"`
	Label string        `json:"label,omitempty"`
	// Value is a hostname or a path, in which * stands for any text, or a part of a user agent. It is empty for
	// addresses: only Hash is stored for them, the HMAC-SHA256 over the application and the network, in hex.
	Value string `json:"value,omitempty"`
	Hash  string `json:"hash,omitempty"`
	// Bits is the length of the network's prefix; V6 is true for an IPv6 network.
	Bits int  `json:"bits,omitempty"`
	V6   bool `json:"v6,omitempty"`
}

// ExclusionItem is a requested rule; with an ID, it retains the rule of that id.
type ExclusionItem struct {
	ID, Value, Label string
	Kind             ExclusionKind
}

// Exclusions are the rules of an application.
type Exclusions struct {
	Items     []Exclusion `json:"items,omitempty"`
	UpdatedAt time.Time   `json:"updatedAt,omitzero"`
}

// IsZero reports whether there never was a rule.
func (e Exclusions) IsZero() bool { return len(e.Items) == 0 && e.UpdatedAt.IsZero() }

// Replace returns the rules that a complete list of requested rules results in, or every problem of the list. key is
// the key of the address hashes.
func (e *Exclusions) Replace(key []byte, app string, items []ExclusionItem, now time.Time) (Exclusions, []FieldError) {
	next := Exclusions{UpdatedAt: now}
	var problems []FieldError
	if len(items) > MaxExclusions {
		problems = append(problems, FieldError{Field: "items", Code: "too_many", Message: fmt.Sprintf("An application has %d rules at most.", MaxExclusions)})
	}
	for n, item := range items {
		made, problem := e.replace(key, app, item)
		if problem != nil {
			problem.Field = fmt.Sprintf("items[%d].%s", n, problem.Field)
			problems = append(problems, *problem)
			continue
		}
		if !slices.ContainsFunc(next.Items, func(other Exclusion) bool { return other.ID == made.ID }) {
			next.Items = append(next.Items, made)
		}
	}
	return next, problems
}

// replace returns the rule of one item.
func (e *Exclusions) replace(key []byte, app string, item ExclusionItem) (Exclusion, *FieldError) {
	if len(item.Label) > MaxExclusionText {
		return Exclusion{}, &FieldError{Field: "label", Code: "too_long", Message: fmt.Sprintf("The text is longer than %d bytes.", MaxExclusionText)}
	}
	if item.ID != "" && item.Value == "" {
		at := slices.IndexFunc(e.Items, func(known Exclusion) bool { return known.ID == item.ID })
		if at < 0 {
			return Exclusion{}, &FieldError{Field: "id", Code: "unknown_rule", Message: "There is no rule of this id."}
		}
		kept := e.Items[at]
		kept.Label = item.Label
		return kept, nil
	}
	made := Exclusion{Kind: item.Kind, Label: item.Label, Value: strings.TrimSpace(item.Value)}
	if made.Value == "" || len(made.Value) > MaxExclusionText {
		return made, &FieldError{Field: "value", Code: "invalid_value", Message: fmt.Sprintf("A value has 1 to %d bytes.", MaxExclusionText)}
	}
	switch item.Kind {
	case ExcludeAddress:
		network, ok := parseNetwork(made.Value)
		if !ok {
			return made, &FieldError{Field: "value", Code: "invalid_value", Message: "An address is like 203.0.113.7, 203.0.113.0/24 or 2001:db8::/48, and not broader than /8 or /16."}
		}
		made.Value, made.Hash = "", networkHash(key, app, network)
		made.Bits, made.V6 = network.Bits(), network.Addr().Is6()
	case ExcludeHostname, ExcludeUserAgent:
		made.Value = strings.ToLower(made.Value)
	case ExcludePath:
		if !strings.HasPrefix(made.Value, "/") && !strings.HasPrefix(made.Value, "*") {
			return made, &FieldError{Field: "value", Code: "invalid_value", Message: "A path begins with / or *."}
		}
	default:
		return made, &FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", item.Kind), Allowed: Texts(item.Kind.Values())}
	}
	sum := sha256.Sum256([]byte(string(made.Kind) + "\x00" + made.Value + "\x00" + made.Hash))
	made.ID = "exc_" + hex.EncodeToString(sum[:])[:exclusionIDLength]
	return made, nil
}

// parseNetwork reads an address or a network that is not too broad.
func parseNetwork(text string) (netip.Prefix, bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap().WithZone("")
		return netip.PrefixFrom(address, address.BitLen()), true
	}
	network, err := netip.ParsePrefix(text)
	if err != nil || network.Addr().Is4In6() {
		return netip.Prefix{}, false
	}
	const least4, least6 = 8, 16
	least := least4
	if network.Addr().Is6() {
		least = least6
	}
	return network.Masked(), network.Bits() >= least
}

// networkHash returns the keyed hash that is stored in place of a network.
func networkHash(key []byte, app string, network netip.Prefix) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(app + "\x00" + network.String()))
	return hex.EncodeToString(mac.Sum(nil))
}

// ExclusionSet is the compiled form of an application's rules. It may be shared.
type ExclusionSet struct {
	app          string
	bits4, bits6 []int
	networks     map[string]bool
	hosts, paths []string
	agents       []string
}

// Compile returns the compiled rules, nil if there are no rules.
func (e *Exclusions) Compile(app string) *ExclusionSet {
	if len(e.Items) == 0 {
		return nil
	}
	set := &ExclusionSet{app: app, networks: map[string]bool{}}
	for _, item := range e.Items {
		switch item.Kind {
		case ExcludeAddress:
			set.networks[item.Hash] = true
			bits := &set.bits4
			if item.V6 {
				bits = &set.bits6
			}
			if !slices.Contains(*bits, item.Bits) {
				*bits = append(*bits, item.Bits)
			}
		case ExcludeHostname:
			set.hosts = append(set.hosts, item.Value)
		case ExcludePath:
			set.paths = append(set.paths, item.Value)
		case ExcludeUserAgent:
			set.agents = append(set.agents, item.Value)
		}
	}
	return set
}

// Reason returns the kind of the rule that excludes an item with this address and user agent, about a page of this
// host. It is empty if no rule does.
func (s *ExclusionSet) Reason(key []byte, address, userAgent, host, path string) ExclusionKind {
	if s == nil {
		return ""
	}
	if len(s.agents) > 0 && userAgent != "" {
		lower := strings.ToLower(userAgent)
		if slices.ContainsFunc(s.agents, func(part string) bool { return strings.Contains(lower, part) }) {
			return ExcludeUserAgent
		}
	}
	if host != "" && slices.ContainsFunc(s.hosts, func(pattern string) bool { return meets(pattern, host) }) {
		return ExcludeHostname
	}
	if path != "" && slices.ContainsFunc(s.paths, func(pattern string) bool { return meets(pattern, path) }) {
		return ExcludePath
	}
	if len(s.networks) > 0 && s.knows(key, address) {
		return ExcludeAddress
	}
	return ""
}

// knows reports whether an address lies in one of the networks.
func (s *ExclusionSet) knows(key []byte, text string) bool {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return false
	}
	address = address.Unmap().WithZone("")
	lengths := s.bits4
	if address.Is6() {
		lengths = s.bits6
	}
	return slices.ContainsFunc(lengths, func(bits int) bool {
		network, err := address.Prefix(bits)
		return err == nil && s.networks[networkHash(key, s.app, network)]
	})
}

// meets reports whether a text matches a pattern, in which * stands for any text.
func meets(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, begins := strings.CutPrefix(text, parts[0])
	if !begins {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, last)
}
