package clickhouse

import (
	"strings"

	"svc/domain"
)

// Clause is a condition that is composed of fixed parts. Its values are bound under separate names. The zero value is
// true.
type Clause struct {
	parts []string
	args  Args
}

// Text returns the condition.
func (c *Clause) Text() string {
	if len(c.parts) == 0 {
		return "true"
	}
	return strings.Join(c.parts, " AND ")
}

// Args returns the values that the condition refers to.
func (c *Clause) Args() Args { return c.args }

// Add appends a part that refers to a value by its name.
func (c *Clause) Add(part, name string, value any) {
	if c.args == nil {
		c.args = Args{}
	}
	c.parts = append(c.parts, part)
	c.args[name] = value
}

// AddAll appends a part that refers to values by their names.
func (c *Clause) AddAll(part string, values Args) {
	c.parts, c.args = append(c.parts, part), c.args.With(values)
}

// Equals appends the condition that a column has a value.
func (c *Clause) Equals(column, value string) {
	c.Add(column+" = {f_"+column+":String}", "f_"+column, value)
}

// Bind replaces the placeholder $(where) in a query by a condition.
func Bind(query string, c Clause) string {
	return strings.ReplaceAll(query, "$(where)", c.Text())
}

// ShapePattern matches at least the texts that domain.MaskShapes hides: addresses with an @ in any notation, credentials,
// and the values of parameters and path segments. It also matches runs of digits that are long enough for telephone,
// card and account numbers and national ids.
const ShapePattern = `[\p{L}\p{N}\p{M}.!#$%*+^_{|}~'-]*(@|＠|﹫|%(25)*40|(?i:%(25)*ef%(25)*bc%(25)*a0))[\p{L}\p{N}\p{M}-][\p{L}\p{N}\p{M}.．。-]*[.．。][\p{L}\p{N}\p{M}.．。-]*` +
	`|(?i:\+|%2b)[1-9][0-9 ()./%-]{6,}|\b00[1-9][0-9 ()./-]{7,}` +
	`|\b0[1-9][0-9]{1,3}[ /-]+[0-9][0-9 /-]{4,}|\(?\b[2-9][0-9]{2}[) .-]+[0-9]{3}[ .-]+[0-9]{4}\b` +
	`|\b[2-6][0-9]{12,18}\b|\b[12][0-9]{14}\b|\b[2-6][0-9]{3}[ -][0-9]{4,6}[ -][0-9]{4,5}([ -][0-9]{2,4})?\b` +
	`|\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b|\b[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}\b|\b[0-9]{8}[A-Z]\b` +
	`|\b[A-Za-z]{2}[0-9]{2} ?[A-Za-z0-9]{4}[A-Za-z0-9 ]{7,30}\b|\b[A-Za-z]{6}[0-9]{2}[A-Za-z][0-9]{2}[A-Za-z][0-9]{3}[A-Za-z]\b` +
	`|\b(eyJ|[srw][kh](sec)?_|sk-|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|xapp-|A[KS]IA|AIza|SG\.|npm_|pypi-|ya29\.|shp[a-z]+_|dop_v1_)[A-Za-z0-9_.-]{8,}` +
	`|(^|[?&;#])[^?&;#=\s]*(?i:` + parameterPattern + `)[^?&;#=\s]*=[^&;#\s"'<>]+|(?i:/[^/?&=# ]*(` + segmentPattern + `)/)[^/?&#; ]*`

// parameterPattern matches parts of the parameter names that domain.IsPersonal and domain.IsSecretName find.
const parameterPattern = `mail|name|login|phone|mobil|whats|tel|cel|fax|addr|adres|street|stra|house|photo|avatar|picture|selfie|ip|dob|birth|ssn|sin|nino|iban|bic|swift|account|tax|vat|tin|` +
	`pass|national|number|licen|card|pan|cv|cid|clid|braid|fbc|fbp|lifat|epik|igsh|mce|mkt|hsenc|sess|device|ad|idf|gaid|im[es]i|mac|token|sid|secret|key|auth|cred|csrf|xsrf|cookie|pw|` +
	`code|jwt|pin|otp|bearer|sign|handy|gebur|anschrift|steuer|prenom|prénom|téléphone|portable|courriel|nais|nombre|apellido|mó?vil|correo|direcc|nac|dni|nie|curp|rfc|nome|indirizzo|fiscal|` +
	`nasc|endere|cpf|geboorte|bsn|imi|nazwisko|pesel|henkilo|aadhaar|氏|名|電話|住所|姓|电话|手机|邮箱|地址|身份|имя|фамилия|почта`

// segmentPattern matches the ends of path segments that precede personal data and credentials.
const segmentPattern = `reset|token|password|ssn|phone|tel|mobile|fax|mail|iban|card|passport|id|dob|birthda[a-z]+|cpf|dni|pesel|bsn|ip|recover[a-z]*|forgot|verify|verification|` +
	`confirm|confirmation|activat[a-z]+|invit[a-z]+|join|magic|link|login|signin|autologin|sso|unsubscribe|optout|auth|session|secret|key|otp|code`

// PersonalPattern matches the names of members with values that are hidden in an application, in any case and spelling.
func PersonalPattern(fields domain.PersonalFields) string { return "(" + fields.Pattern() + ")" }
