package domain

import "strings"

// numberShape returns the end of the personal number that begins at a position, or 0 if it finds none.
func numberShape(s string, at int) int {
	if c := s[at]; c == '+' || c == '%' || c == '(' {
		return phoneEnd(s, at)
	}
	if at > 0 && strings.IndexByte(".-:,", s[at-1]) >= 0 {
		return 0
	}
	run := digitRun(s, at)
	digits := run.digits()
	switch {
	case run.bounded(s) && (isCardNumber(digits, run.groups) || isNationalNumber(digits, run.groups, run.separators)):
		return run.end
	case s[at] == '0', run.separators != "":
		return phoneEnd(s, at)
	}
	return 0
}

// digitsRun is a run of digits with single separators.
type digitsRun struct {
	end        int
	buffer     [24]byte
	count      int
	groups     []int
	separators string
	groupsOf   [8]int
	signs      [8]byte
}

func (d *digitsRun) digits() string { return string(d.buffer[:min(d.count, len(d.buffer))]) }

// bounded reports whether the run ends at the end of a word.
func (d *digitsRun) bounded(s string) bool {
	return d.end == len(s) || !IsWordByte(s[d.end]) && s[d.end] != '@' && !(strings.IndexByte(".-:,", s[d.end]) >= 0 && d.end+1 < len(s) && IsWordByte(s[d.end+1]))
}

// digitRun reads digits that have single spaces, hyphens or dots between groups.
func digitRun(s string, at int) digitsRun {
	run := digitsRun{end: at}
	group, signs := 0, 0
	for i := at; i < len(s); i++ {
		c := s[i]
		if c >= '0' && c <= '9' {
			if run.count < len(run.buffer) {
				run.buffer[run.count] = c
			}
			run.count, group, run.end = run.count+1, group+1, i+1
			continue
		}
		next := i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9'
		if (c != ' ' && c != '-' && c != '.') || !next || signs == len(run.signs)-1 {
			break
		}
		run.signs[signs], run.groupsOf[signs] = c, group
		signs, group = signs+1, 0
	}
	run.groupsOf[signs] = group
	run.groups, run.separators = append([]int{}, run.groupsOf[:signs+1]...), string(run.signs[:signs])
	return run
}

// phoneEnd returns the end of a telephone number. The number is international with + or 00, (555) 123-4567,
// 555-123-4567, or national with a leading zero and a separator.
func phoneEnd(s string, at int) int {
	begin, international := phoneBegin(s, at)
	if begin < 0 {
		return 0
	}
	digits := phoneDigits(s, begin)
	end := digits.end
	if end == 0 || end < len(s) && (IsWordByte(s[end]) || s[end] == '@' || s[end] == ':') {
		return 0
	}
	if !international {
		return nationalPhone(s[at:end], digits.groups[:digits.last+1], digits.count, end)
	}
	const shortest, longest = 8, 15
	if s[digits.begin] == '0' || digits.count < shortest || digits.count > longest || digits.groups[0] > longest {
		return 0
	}
	return end
}

// digitGroups are the digits of a text up to the end of a possible telephone number. It has the size of each group up
// to the last, the number of groups, and their start and end.
type digitGroups struct {
	groups                  [10]int
	last, count, begin, end int
}

// phoneDigits reads the digits of a telephone number and the separators between them.
func phoneDigits(s string, begin int) (d digitGroups) {
	for i := begin; i < len(s); i++ {
		if c := s[i]; c >= '0' && c <= '9' {
			if d.count == 0 {
				d.begin = i
			}
			d.count, d.end = d.count+1, i+1
			d.groups[d.last]++
			continue
		}
		size := phoneSeparator(s[i:])
		if size == 0 || d.last == len(d.groups)-1 || i > d.end && i > begin && d.count > 0 && !isPhoneGap(s[d.end:i]) {
			break
		}
		if d.groups[d.last] > 0 {
			d.last++
		}
		i += size - 1
	}
	if d.groups[d.last] == 0 && d.last > 0 {
		d.last--
	}
	return d
}

// phoneBegin returns the start of the digits of a telephone number, or -1 if it finds none. It also returns whether the
// number includes a country code.
func phoneBegin(s string, at int) (begin int, international bool) {
	switch {
	case s[at] == '+':
		return at + 1, true
	case len(s) >= at+3 && strings.EqualFold(s[at:at+3], "%2b"):
		return at + 3, true
	case s[at] == '%':
		return -1, false
	case strings.HasPrefix(s[at:], "00"):
		return at + 2, true
	}
	return at, false
}

// isPhoneGap reports whether the text between two digits is short.
func isPhoneGap(gap string) bool { return len(gap) <= 3 }

// nationalPhone returns end if the groups of digits form a telephone number without a country code.
func nationalPhone(text string, groups []int, count, end int) int {
	area, bracket := strings.CutPrefix(text, "(")
	if bracket && !strings.Contains(area, ")") {
		return 0
	}
	american := len(groups) == 3 && groups[0] == 3 && groups[1] == 3 && groups[2] == 4 && area[0] >= '2'
	if american || len(groups) == 4 && groups[0] == 1 && groups[1] == 3 && groups[2] == 3 && groups[3] == 4 && area[0] == '1' {
		return end
	}
	if area[0] == '0' && len(area) > 1 && area[1] != '0' && len(groups) >= 2 && groups[0] >= 3 && groups[0] <= 5 && count >= 9 && count <= 12 && !strings.Contains(area, ".") {
		return end
	}
	return 0
}

// phoneSeparator returns the length of the separator at the start of s, as in telephone numbers. It returns 0 if it
// finds none.
func phoneSeparator(s string) int {
	switch s[0] {
	case ' ', '-', '.', '(', ')', '/':
		return 1
	case '%':
		if strings.HasPrefix(s, "%20") || len(s) >= 3 && (strings.EqualFold(s[:3], "%2d") || s[:3] == "%28" || s[:3] == "%29") {
			return 3
		}
	}
	for _, wide := range [...]string{"\u00a0", "\u2011", "\u2010", "\u2013"} {
		if strings.HasPrefix(s, wide) {
			return len(wide)
		}
	}
	return 0
}

// isCardNumber reports whether digits are the number of a payment card. It checks the issuer's range, the length and
// the check digit.
func isCardNumber(digits string, groups []int) bool {
	if len(digits) < 13 || len(digits) > 19 || !IsCard(digits) {
		return false
	}
	for i, group := range groups {
		if len(groups) > 1 && group < 3 && i < len(groups)-1 {
			return false
		}
	}
	head := 0
	for i := range 4 {
		head = head*10 + int(digits[i]-'0')
	}
	length := len(digits)
	switch {
	case digits[0] == '4':
		return length == 13 || length == 16 || length == 19
	case head >= 5100 && head <= 5599, head >= 2221 && head <= 2720:
		return length == 16
	case head/100 == 34, head/100 == 37:
		return length == 15
	case head >= 3000 && head <= 3059, head/100 == 36, head/100 == 38, head/100 == 39:
		return length == 14 || length == 16
	case head == 6011, head >= 6440 && head <= 6599, head >= 3528 && head <= 3589, head/100 == 62:
		return length >= 16
	}
	return false
}

// isNationalNumber reports whether digits are a national id. It knows US and Brazilian ids in their written form, and
// French ids with their key.
func isNationalNumber(digits string, groups []int, separators string) bool {
	switch {
	case separators == "--" && len(groups) == 3 && groups[0] == 3 && groups[1] == 2 && groups[2] == 4:
		return digits[0] != '9' && digits[:3] != "000" && digits[:3] != "666" && digits[3:5] != "00" && digits[5:] != "0000"
	case separators == "..-" && len(digits) == 11 && groups[0] == 3 && groups[1] == 3 && groups[2] == 3:
		return checkCPF(digits)
	case len(digits) == 15 && (digits[0] == '1' || digits[0] == '2'):
		month := int(digits[3]-'0')*10 + int(digits[4]-'0')
		return month >= 1 && month <= 12 && (remainder(digits[:13], 97)+int(digits[13]-'0')*10+int(digits[14]-'0'))%97 == 0
	}
	return false
}

func checkCPF(digits string) bool {
	for _, size := range [...]int{9, 10} {
		sum := 0
		for i := range size {
			sum += int(digits[i]-'0') * (size + 1 - i)
		}
		if sum*10%11%10 != int(digits[size]-'0') {
			return false
		}
	}
	return strings.Trim(digits, digits[:1]) != ""
}

func remainder(digits string, by int) (rest int) {
	for _, c := range []byte(digits) {
		rest = (rest*10 + int(c-'0')) % by
	}
	return rest
}

// wordShape returns the end of an account number, a national id with letters or a credential that begins at a position.
// It returns 0 if it finds none.
func wordShape(s string, at int) int {
	if end := tokenEnd(s, at); end > 0 {
		return end
	}
	end := at
	for end < len(s) && IsWordByte(s[end]) && s[end] != '_' {
		end++
	}
	if end < len(s) && s[end] == '_' {
		return 0
	}
	switch word := s[at:end]; len(word) {
	case 9:
		if isSpanishID(word) {
			return end
		}
	case 16:
		if isItalianID(word) {
			return end
		}
	}
	return ibanEnd(s, at)
}

func isSpanishID(word string) bool {
	number := 0
	for i := range 8 {
		if word[i] < '0' || word[i] > '9' {
			return false
		}
		number = number*10 + int(word[i]-'0')
	}
	return word[8] == "TRWAGMYFPDXBNJZSQVHLCKE"[number%23]
}

// isItalianID reports whether a word is a codice fiscale, by the places of its letters and digits.
func isItalianID(word string) bool {
	for i, kind := range []byte("AAAAAA99A99A999A") {
		isLetter := word[i]|0x20 >= 'a' && word[i]|0x20 <= 'z'
		if isLetter != (kind == 'A') {
			return false
		}
	}
	return true
}

// ibanEnd returns the end of an IBAN, written plainly or in groups of four. It verifies the check digits.
func ibanEnd(s string, at int) int {
	const least, most = 15, 34
	letters := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	if len(s) < at+least || !letters(s[at]) || !letters(s[at+1]) || s[at+2] < '0' || s[at+2] > '9' || s[at+3] < '0' || s[at+3] > '9' {
		return 0
	}
	var plain [most]byte
	count, found := 0, 0
	for i := at; i < len(s) && count < most; i++ {
		if s[i] == ' ' && count%4 == 0 {
			continue
		}
		if !IsWordByte(s[i]) || s[i] == '_' {
			break
		}
		plain[count] = s[i]
		count++
		if (i+1 == len(s) || !IsWordByte(s[i+1])) && count >= least && checkIBAN(plain[:count]) {
			found = i + 1
		}
	}
	return found
}

func checkIBAN(plain []byte) bool {
	rest := 0
	for i := range plain {
		c := plain[(i+4)%len(plain)]
		if c >= '0' && c <= '9' {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c|0x20-'a') + 10) % 97
		}
	}
	return rest == 1
}

// tokenEnd returns the end of a credential with a known prefix, or 0 if it finds none.
func tokenEnd(s string, at int) int {
	for _, kind := range [...]struct {
		prefix string
		least  int
	}{
		{"eyJ", 20},
		{"sk_live_", 8},
		{"sk_test_", 8},
		{"rk_live_", 8},
		{"rk_test_", 8},
		{"sk-", 20},
		{"whsec_", 8},
		{"ghp_", 16},
		{"gho_", 16},
		{"ghs_", 16},
		{"ghu_", 16},
		{"ghr_", 16},
		{"github_pat_", 16},
		{"glpat-", 16},
		{"xoxb-", 10},
		{"xoxp-", 10},
		{"xoxa-", 10},
		{"xoxs-", 10},
		{"xapp-", 10},
		{"AKIA", 16},
		{"ASIA", 16},
		{"AIza", 30},
		{"SG.", 30},
		{"npm_", 30},
		{"pypi-", 30},
		{"ya29.", 20},
		{"shpat_", 20},
		{"shpss_", 20},
		{"dop_v1_", 30},
	} {
		if !strings.HasPrefix(s[at:], kind.prefix) {
			continue
		}
		end := at + len(kind.prefix)
		for end < len(s) && (IsWordByte(s[end]) || s[end] == '-' || s[end] == '.') {
			end++
		}
		body := s[at+len(kind.prefix) : end]
		if len(body) >= kind.least && (kind.prefix != "eyJ" || strings.Contains(body, ".")) {
			return end
		}
	}
	return 0
}

// IsWordByte reports whether a byte is a digit, a letter of ASCII or an underscore.
func IsWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// IsCard reports whether digits with spaces and hyphens have the check digit of a card (Luhn).
func IsCard(text string) bool {
	sum, odd := 0, false
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] < '0' || text[i] > '9' {
			continue
		}
		digit := int(text[i] - '0')
		if odd {
			if digit *= 2; digit > 9 {
				digit -= 9
			}
		}
		sum, odd = sum+digit, !odd
	}
	return sum%10 == 0
}
