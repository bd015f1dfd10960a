package svc

import "strings"

// Ids that are made of a 64-bit number: a prefix and thirteen digits of five bits each.
const (
	numberDigits = 13
	crockford    = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// numberID returns the id of a number.
func numberID(prefix string, number uint64) string {
	id := make([]byte, len(prefix)+numberDigits)
	copy(id, prefix)
	for i := len(id) - 1; i >= len(prefix); i-- {
		id[i] = crockford[number&31]
		number >>= 5
	}
	return string(id)
}

// parseNumberID is the inverse of numberID.
func parseNumberID(prefix, id string) (number uint64, ok bool) {
	digits, ours := strings.CutPrefix(id, prefix)
	if !ours || len(digits) != numberDigits {
		return 0, false
	}
	for i := range len(digits) {
		digit := strings.IndexByte(crockford, digits[i])
		if digit < 0 || i == 0 && digit > 15 {
			return 0, false
		}
		number = number<<5 | uint64(digit)
	}
	return number, true
}
