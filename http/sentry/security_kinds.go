package sentry

import (
	"regexp"
	"strconv"
	"strings"
)

// The kinds of reports, as in the names of their issues.
const (
	kindCSP    = "CSP"
	kindCT     = "Expect-CT"
	kindStaple = "Expect-Staple"
	kindPins   = "HPKP"
	kindOther  = "Report"
)

// reportKind returns the kind of a report of the Reporting API by its type.
func reportKind(word string) string {
	switch word {
	case "csp-violation", "csp":
		return kindCSP
	case "network-error":
		return "NEL"
	case "deprecation":
		return "Deprecation"
	case "intervention":
		return "Intervention"
	case "crash":
		return "Crash"
	case "permissions-policy-violation", "potential-permissions-policy-violation", "feature-policy-violation":
		return "Permissions-Policy"
	case "document-policy-violation":
		return "Document-Policy"
	case "integrity-violation":
		return "Integrity-Policy"
	case "coep", "coop":
		return strings.ToUpper(word)
	}
	return kindOther
}

// typed returns the sender's name of the kind of a report: its type, if it has one.
func (r *reportReader) typed(top object, kind string) string {
	if word, ok := scalar(top["type"]); ok && reportWord.MatchString(word) {
		return word
	}
	return kind
}

// reportWord is the form of words that may distinguish reports.
var reportWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:-]{0,99}$`)

// policy reads a violation of a content-security policy.
func (r *reportReader) policy(said *Security) error {
	directive := r.text("effectivedirective")
	if directive == "" {
		directive = r.text("violateddirective")
	}
	directive, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(directive)), " ")
	if !reportWord.MatchString(directive) {
		return malformed("invalid report: effective-directive and violated-directive name no directive")
	}
	// Browsers differ in whether they name the part of script-src that a file violates.
	family := strings.TrimSuffix(directive, "-elem")
	source := blockedSource(r.text("blockeduri"))
	said.Culprit, said.Group = directive, family+" "+source
	said.Title = blockedTitle(family, source)
	return nil
}

// blockedSource returns the source that the policy blocked: a host, a scheme with a colon, or a
// word such as inline.
func blockedSource(blocked string) string {
	switch blocked {
	case "":
		return "inline" // Browsers of the first version of CSP send this value for inline code.
	case "inline", "eval", "wasm-eval", "self", "null", "trusted-types-policy", "trusted-types-sink":
		return blocked
	}
	if !strings.ContainsAny(blocked, ".:/[") && blocked != "localhost" {
		return bounded(strings.ToLower(blocked)) + ":"
	}
	return hostOf(blocked)
}

// blockedTitle describes the blocked source.
func blockedTitle(family, source string) string {
	what := strings.TrimSuffix(strings.TrimSuffix(family, "-attr"), "-src")
	switch what {
	case "img":
		what = "image"
	case "frame-ancestors":
		what = "ancestor"
	case "base-uri":
		what = "base"
	case "form-action":
		what = "form"
	}
	switch source {
	case "inline":
		return "Blocked unsafe inline '" + what + "'"
	case "eval", "wasm-eval":
		return "Blocked unsafe " + source + " '" + what + "'"
	}
	return "Blocked '" + what + "' from '" + source + "'"
}

// certificate reads a report about the certificate of a host.
func (r *reportReader) certificate(said *Security) error {
	name := r.text("hostname")
	if port := r.number("port"); name != "" && port > 0 {
		name += ":" + strconv.Itoa(port)
	}
	if name == "" || strings.ContainsAny(name, "/ ") {
		return malformed("invalid report: hostname names no host")
	}
	host := hostOf("https://" + name)
	said.Culprit, said.Group = host, host
	switch said.Kind {
	case kindPins:
		said.Title = "Public key pinning failed for '" + host + "'"
	default:
		said.Title = said.Kind + " failed for '" + host + "'"
	}
	return nil
}

// general reads any other report of the Reporting API. Such reports are grouped by the words in
// their bodies and by the host.
func (r *reportReader) general(said *Security, word, page string) {
	subject := ""
	for _, member := range []string{"id", "policyid", "featureid", "type", "reason"} {
		if value := r.text(member); subject == "" && reportWord.MatchString(value) {
			subject = value
		}
	}
	place := r.text("sourcefile")
	if place == "" {
		place = page
	}
	host := hostOf(place)
	said.Culprit = subject
	if said.Culprit == "" {
		said.Culprit = word
	}
	said.Group = strings.Join([]string{word, subject, host}, " ")
	if said.Title = r.text("message"); said.Title == "" {
		said.Title = said.Culprit + " at '" + host + "'"
	}
	if said.Kind == "NEL" && subject == "ok" {
		said.Ignored = "The report is about a request that succeeded."
	}
}
