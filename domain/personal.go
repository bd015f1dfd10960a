package domain

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Personal data names or locates a person, or opens an account. Two lists find it: names of fields (this file) and
// shapes of texts (personal_shapes.go). docs/privacy.md publishes both.

// personalNouns are names of personal fields, in lower case without separators. Digits may follow them.
func personalNouns() []string {
	return strings.Fields(`
		mail name login phone phoneno phonenr mobile mobilephone telephone tel cell fax whatsapp address addr street streetname housenumber
		surname nickname username displayname fullname screenname maidenname avatar photo picture selfie ip ipaddr dob birthday birthdate
		ssn sin nino iban bic swift accountnumber taxid vatid tin passport nationalid idnumber driverslicense driverlicense licenseplate
		creditcard cardnumber pan cvv cvc
		gclid gbraid wbraid dclid fbclid fbc fbp msclkid ttclid twclid lifatid yclid rdtcid scclid epik igshid mceid mkttok hsenc
		sessionid sessid phpsessid jsessionid deviceid advertisingid idfa idfv gaid imei imsi macaddress pushtoken fcmtoken devicetoken
		vorname nachname familienname geburtsname telefon telefonnummer handy handynummer mobilnummer geburtstag geburtsdatum adresse anschrift
		strasse straße steuernummer steuerid benutzername
		prenom prénom nomdefamille téléphone portable courriel adressepostale datedenaissance
		nombre apellido apellidos telefono teléfono movil móvil correo direccion dirección fechanacimiento dni nie curp rfc
		nome cognome indirizzo codicefiscale datadinascita cellulare
		sobrenome celular telefone endereço endereco cpf datanascimento
		voornaam achternaam telefoonnummer adres geboortedatum bsn
		imie imię nazwisko pesel personnummer fodselsnummer henkilotunnus aadhaar
		氏名 名前 電話 電話番号 住所 姓名 电话 手机 手机号 邮箱 地址 身份证 имя фамилия телефон почта адрес`)
}

// personalOwners may precede a noun: customer_name, workPhone, shipping-contact-name.
func personalOwners() []string {
	return strings.Fields(`
		customer user contact client guest visitor subscriber member person people employee patient student driver passenger traveler traveller
		sender recipient receiver author buyer payer cardholder holder beneficiary applicant candidate attendee invitee lead parent child mother
		father spouse legal billing shipping delivery postal mailing home work office private personal primary secondary emergency first last middle
		given family full display nick real maiden cell my your remote source alternate alt other`)
}

// personalParts make a name personal if they occur anywhere in it.
func personalParts() []string {
	return strings.Fields("email phonenumber firstname lastname middlename givenname familyname fullname dateofbirth birthdate socialsecurity ipaddress streetaddress")
}

// IsPersonal reports whether a trait, property or parameter with this name holds data that names or locates a person.
// It accepts any spelling: workPhone, work_phone, work-phone, $work.phone2.
func IsPersonal(name string) bool {
	plain := strings.TrimRight(plainName(name), "0123456789")
	if plain == "" {
		return false
	}
	for _, part := range personalTables.parts {
		if strings.Contains(plain, part) {
			return true
		}
	}
	return personalTables.holds(plain)
}

// personalTable has the lists of names in a form for look-ups.
type personalTable struct {
	nouns  map[string]bool
	owners []string
	parts  []string
}

var personalTables = newPersonalTable() //nolint:gochecknoglobals // never changed

func newPersonalTable() *personalTable {
	table := personalTable{nouns: map[string]bool{}, owners: personalOwners(), parts: personalParts()}
	for _, noun := range personalNouns() {
		table.nouns[noun] = true
	}
	return &table
}

// holds reports whether a name consists of any number of owners and a noun.
func (t *personalTable) holds(plain string) bool {
	if t.nouns[plain] {
		return true
	}
	for _, owner := range t.owners {
		if rest, found := strings.CutPrefix(plain, owner); found && rest != "" && t.holds(rest) {
			return true
		}
	}
	return false
}

// plainName returns a name in lower case without separators.
func plainName(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. $[]%", r) {
			return -1
		}
		return r
	}, name))
}

// Pattern returns a regular expression for the names that Has finds. It has no anchors and is case-insensitive.
// Separators need not be removed first.
func (f PersonalFields) Pattern() string {
	const separators = `[_ .$\[\]%-]*`
	spread := func(words []string) string {
		out := make([]string, len(words))
		for i, word := range words {
			letters := strings.Split(word, "")
			for n := range letters {
				letters[n] = regexp.QuoteMeta(letters[n])
			}
			out[i] = strings.Join(letters, separators)
		}
		return strings.Join(out, "|")
	}
	own := ""
	if len(f) > 0 {
		own = `|` + separators + `(` + spread(slices.Sorted(maps.Keys(f))) + `)` + separators
	}
	return `(?i)` + separators + `((` + spread(personalOwners()) + `)` + separators + `)*(` + spread(personalNouns()) + `)` + separators + `[0-9]*` + separators +
		`|[^"]*(` + spread(personalParts()) + `)[^"]*` + own
}

// PersonalFields are the names that an application adds to the list, in the spelling of plainName.
type PersonalFields map[string]bool

// NewPersonalFields returns the additional names of an application.
func NewPersonalFields(names []string) PersonalFields {
	fields := PersonalFields{}
	for _, name := range names {
		fields[plainName(name)] = true
	}
	return fields
}

// Personal returns the additional names of the application.
func (a *Application) Personal() PersonalFields { return NewPersonalFields(a.PersonalFields) }

// Has reports whether a name is personal in the application.
func (f PersonalFields) Has(name string) bool {
	return IsPersonal(name) || len(f) > 0 && f[plainName(name)]
}

// These bounds limit the names that an application adds.
const (
	MaxPersonalFields     = 100
	MaxPersonalFieldBytes = 128
)

// normalisePersonalFields returns the trimmed names without duplicates, and every problem.
func normalisePersonalFields(names []string) (fields []string, problems []FieldError) {
	fields = []string{}
	for i, name := range names {
		name = strings.TrimSpace(name)
		switch {
		case plainName(name) == "" || len(name) > MaxPersonalFieldBytes || !utf8.ValidString(name):
			problems = append(problems, FieldError{
				Field: fmt.Sprintf("personalFields[%d]", i), Code: "invalid_value",
				Message: fmt.Sprintf("A name has 1 to %d bytes and at least one letter or digit.", MaxPersonalFieldBytes),
			})
		case !slices.Contains(fields, name):
			fields = append(fields, name)
		}
	}
	if len(fields) > MaxPersonalFields {
		problems = append(problems, FieldError{
			Field: "personalFields", Code: "too_many", Message: fmt.Sprintf("An application adds at most %d names.", MaxPersonalFields),
		})
	}
	return fields, problems
}

// The name of a secret contains one of secretParts or is one of secretNames. Both are in lower case, without hyphens,
// underscores, dots and spaces.
//
//nolint:gochecknoglobals // never changed
var (
	secretParts = []string{
		"password", "passwd", "passphrase", "secret", "apikey", "authorization", "credential", "privatekey", "accesskey", "accesstoken", "refreshtoken", "authtoken", "idtoken",
		"csrf", "xsrf", "cookie", "cardnumber", "creditcard", "ccnumber", "mysqlpwd", "securitycode", "sessionid",
	}
	secretNames = []string{"token", "auth", "pwd", "pass", "pw", "jwt", "sid", "phpsessid", "jsessionid", "connectsid", "cvv", "cvc", "cvv2", "ssn", "pin", "otp", "xauthtoken", "xapitoken", "apitoken", "bearer", "signature", "iban"}
)

// IsSecretName reports whether a header, parameter or member with this name is treated as a secret.
func IsSecretName(name string) bool {
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "", " ", "", "[", "", "]", "").Replace(name))
	for _, part := range secretParts {
		if strings.Contains(plain, part) {
			return true
		}
	}
	for _, whole := range secretNames {
		if plain == whole {
			return true
		}
	}
	return false
}
