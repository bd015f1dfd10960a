package occurrence

import (
	"regexp"
	"strings"

	"svc/domain"
)

// The forms of path parts that a deployment generates.
var (
	dateForm      = regexp.MustCompile(`^(?:19|20)\d{2}[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:[0-2]\d|3[01])`)
	versionForm   = regexp.MustCompile(`\d+\.\d+\.\d+(?:[-+._]?[0-9A-Za-z]+)*`)
	longNumber    = regexp.MustCompile(`\d{6,}`)
	containerForm = regexp.MustCompile(`^Container[A-Za-z0-9]{7}$`)
	compiledForm  = regexp.MustCompile(`^[0-9a-f]{16,}(?:_\d+)?([._-])`)
	evaluated     = regexp.MustCompile(`\(\d+\) : (?:eval\(\)'d code|runtime-created function).*$`)
)

// nameMarks separate the words in the name of a file or folder.
const nameMarks = "._~-@+="

// stripDeployment returns a folder of a path without the parts that a deployment adds. These are a release, a build, a
// version, a date, the user's name, or a random name.
//
//	/srv/releases/42/app           /srv/releases/*/app
//	/tmp/shop-20261127103000/app   /tmp/shop-*/app
//	/home/ada/shop/app             /home/*/shop/app
//	/var/cache/prod/ContainerAb12Cd3/x.php   /var/cache/prod/Container*/x.php
func stripDeployment(segments []string, i int) string {
	segment, parent := segments[i], ""
	if i > 0 {
		parent = segments[i-1]
	}
	if (parent == "home" || parent == "Users") && (i == 1 || i == 2 && segments[0] == "") {
		return "*"
	}
	if parent == "static" && i > 1 && segments[i-2] == "_next" && segment != "chunks" && segment != "css" && segment != "media" && segment != "development" {
		return "*"
	}
	if containerForm.MatchString(segment) {
		return "Container*"
	}
	if strings.HasSuffix(segment, "==") {
		return "*" // Android's folders of installed packages
	}
	if next, _, _ := strings.Cut(segments[i+1], "."); len(segment) == 2 && isHexWord(segment) && isHash(next, 16) {
		return "*" // caches spread their files over folders
	}
	if !strings.ContainsAny(segment, digits) {
		return segment
	}
	switch parent {
	case "releases", "deployments", "deploys", "builds", "revisions", "versions", "tmp":
		return "*"
	}
	if domain.IsUUID(segment) || dateForm.MatchString(segment) {
		return "*"
	}
	segment = longNumber.ReplaceAllString(versionForm.ReplaceAllString(segment, "*"), "*")
	return stripWords(segment, func(word string) bool { return isHash(word, 7) }, "*")
}

// stripBundle returns the name of a file without the parts that a compiler of templates or a bundler adds.
//
//	9f0c…40 digits.php           *.php
//	9f0c…_0.file.cart.tpl.php    *.file.cart.tpl.php
//	index-2-98CiAx.js            index.js
//	chunk-ABC123.mjs             chunk.mjs
//	0qZ3k~x9_ab1..js             *.js     below /_next/static/chunks
func stripBundle(name string, folders []string) string {
	if strings.Contains(name, " : ") {
		name = evaluated.ReplaceAllString(name, "")
	}
	end := strings.LastIndexByte(name, '.')
	if end <= 0 {
		return name
	}
	stem, ending := name[:end], name[end:]
	isBundle := isScript(name)
	switch {
	case isHash(stem, 16), domain.IsUUID(stem), len(stem) >= 6 && strings.Trim(stem, digits) == "",
		isBundle && (isHash(stem, 8) || isNextChunk(folders) && looksRandom(stem)):
		return "*" + ending
	case len(stem) > 16 && isHexWord(stem[:16]) && compiledForm.MatchString(stem):
		return compiledForm.ReplaceAllString(stem, "*$1") + ending
	case !isBundle:
		return name
	}
	// Rollup and Vite put eight digits of base 64 after a hyphen. These digits may include a hyphen.
	const tail = 8
	first, rest, _ := strings.Cut(stem, ".")
	if at := len(first) - tail - 1; at > 0 && first[at] == '-' && isBase64Hash(first[at+1:]) {
		stem = strings.TrimSuffix(first[:at]+"."+rest, ".")
	}
	return stripWords(stem, isBundleWord, "") + ending
}

// stripWords replaces words of a name by a text. If the text is empty, the mark before the word is removed too, and the
// first word stays.
func stripWords(name string, replaced func(word string) bool, with string) string {
	for at := 0; at < len(name); {
		mark := at
		if at > 0 {
			mark++
		}
		next := mark
		for next < len(name) && strings.IndexByte(nameMarks, name[next]) < 0 {
			next++
		}
		switch {
		case !replaced(name[mark:next]) || at == 0 && with == "":
			at = next
		case with == "":
			name = name[:at] + name[next:]
		default:
			name = name[:mark] + with + name[next:]
			at = mark + len(with)
		}
	}
	return name
}

// isNextChunk reports whether a file in such a folder is a chunk of Next.js.
func isNextChunk(folders []string) bool {
	n := len(folders)
	return n > 2 && folders[n-1] == "chunks" && folders[n-2] == "static" && folders[n-3] == "_next"
}

// looksRandom reports whether the name of a chunk is only the hash that Turbopack gives it.
func looksRandom(stem string) bool {
	const least, most = 10, 20
	if strings.Contains(stem, "~") || strings.Contains(stem, "..") || strings.HasSuffix(stem, ".") {
		return true
	}
	if len(stem) < least || len(stem) > most || !strings.ContainsAny(stem, digits) {
		return false
	}
	changes := 0
	for i := 1; i < len(stem); i++ {
		if kindOf(stem[i]) != kindOf(stem[i-1]) {
			changes++
		}
	}
	return !strings.Contains(stem, "-") || changes*2 >= len(stem)
}

// kindOf returns the kind of a character: a digit, a small letter, a capital, or another one.
func kindOf(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return '0'
	case c >= 'a' && c <= 'z':
		return 'a'
	case c >= 'A' && c <= 'Z':
		return 'A'
	}
	return '-'
}

// isHash reports whether a word has at least the given number of hexadecimal digits. They must include digits and
// letters.
func isHash(word string, least int) bool {
	return len(word) >= least && isHexWord(word) && strings.ContainsAny(word, digits) && strings.ContainsAny(word, "abcdef")
}

// isBundleWord reports whether a word of a bundle's name is a hash. The word may be shorter than a hash that
// isBuildWord accepts.
func isBundleWord(word string) bool {
	const least = 6
	return isHash(word, least) || len(word) >= least && strings.Trim(word, digits+"ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && strings.ContainsAny(word, digits) && strings.Trim(word, digits) != ""
}

// isBase64Hash reports whether eight characters read like a hash in base 64 rather than like a word. A hash has a
// capital after the first letter, or a digit before the last one.
func isBase64Hash(word string) bool {
	hasCapital, hasDigit := false, false
	for i := range len(word) {
		switch kindOf(word[i]) {
		case 'A':
			hasCapital = hasCapital || i > 0
		case '0':
			hasDigit = hasDigit || i < len(word)-1
		case '-':
			if word[i] != '-' && word[i] != '_' {
				return false
			}
		}
	}
	return hasCapital || hasDigit
}
