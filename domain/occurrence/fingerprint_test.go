package occurrence

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestEnginesAgree groups the same error of three browsers as one issue, before and after a new build of the same code
// and from another host.
func TestEnginesAgree(t *testing.T) {
	thrown := func(stack, message string) *Occurrence {
		o := &Occurrence{Name: "TypeError", Message: message, Stack: stack}
		o.Normalise()
		return o
	}
	chrome := thrown(chromeStack, "Cannot read properties of undefined (reading 'price')")
	want := Fingerprint(chrome, nil)
	rebuilt := strings.NewReplacer("BxT3k9aZ", "D2kQ9x_1", "shop.example", "cdn.example.com", ":4520", ":777", "?v=7", "?v=8")
	for name, o := range map[string]*Occurrence{
		"Firefox": thrown(firefoxStack, `can't access property "price", item is undefined`),
		"Safari":  thrown(safariStack, "undefined is not an object (evaluating 'item.price')"),
		"rebuilt": thrown(rebuilt.Replace(chromeStack), "Cannot read properties of undefined (reading 'price')"),
	} {
		if got := Fingerprint(o, nil); got != want {
			t.Errorf("%s: %+v is another issue than %+v", name, o.Frames, chrome.Frames)
		}
	}
	if other := thrown(chromeStack, "Cannot read properties of undefined (reading 'name')"); Fingerprint(other, nil) == want {
		t.Error("another property is the same issue")
	}
	if !strings.HasPrefix(want, "v3-") || len(want) != 3+32 {
		t.Errorf("fingerprint %q", want)
	}
}

// TestFingerprintIsFixed pins the algorithm: a change of these values splits every issue, and needs another
// FingerprintVersion.
func TestFingerprintIsFixed(t *testing.T) {
	frame := func(file, function string, line int, inApp bool) Frame { return called(file, function, line, 1, inApp) }
	base := func() *Occurrence {
		return &Occurrence{Name: "Timeout", Message: "order 42 of ada@example.com failed", Frames: []Frame{
			frame("lib/x.js", "lib", 1, false), frame("/app/a.js", "a", 2, true), frame("/app/b.js", "b", 3, true), frame("/app/c.js", "c", 4, true), frame("/app/d.js", "d", 5, true),
		}}
	}
	same := Fingerprint(base(), nil)
	if fixed := "v3-65cfb0dceed32678b99acf5a21c7cb59"; same != fixed {
		t.Errorf("the fingerprint is %s and was %s", same, fixed)
	}
	// Issues of the previous version are found by its fingerprint of the same occurrence.
	if former, fixed := FormerFingerprint(base(), nil), "v2-4417e4b8db7b63448ce61ecb469759e8"; former != fixed {
		t.Errorf("the former fingerprint is %s and was %s", former, fixed)
	}
	for name, c := range map[string]struct {
		change   func(*Occurrence)
		explicit []string
		equal    bool
	}{
		"other lines":            {func(o *Occurrence) { o.Frames[1].Line, o.Frames[1].Column = 99, 7 }, nil, true},
		"other numbers":          {func(o *Occurrence) { o.Message = "order 7 of bob@example.org failed" }, nil, true},
		"a fourth frame":         {func(o *Occurrence) { o.Frames[4].Function = "other" }, nil, true},
		"a library's frame":      {func(o *Occurrence) { o.Frames[0].Function = "other" }, nil, true},
		"default alone":          {func(*Occurrence) {}, []string{"{{ default }}"}, true},
		"default without spaces": {func(*Occurrence) {}, []string{"{{default}}"}, true},
		"no parts":               {func(*Occurrence) {}, []string{}, true},
		"the third frame":        {func(o *Occurrence) { o.Frames[3].Function = "other" }, nil, false},
		"another file":           {func(o *Occurrence) { o.Frames[1].File = "/app/z.js" }, nil, false},
		"another name":           {func(o *Occurrence) { o.Name = "Refused" }, nil, false},
		"another message":        {func(o *Occurrence) { o.Message = "order 42 of ada@example.com was lost" }, nil, false},
		"default and a word":     {func(*Occurrence) {}, []string{"{{ default }}", "payment"}, false},
		"words":                  {func(*Occurrence) {}, []string{"payment"}, false},
	} {
		o := base()
		c.change(o)
		if got := Fingerprint(o, c.explicit); (got == same) != c.equal {
			t.Errorf("%s: equal is %v", name, !c.equal)
		}
	}
	if Fingerprint(base(), []string{"ab", "c"}) == Fingerprint(base(), []string{"a", "bc"}) {
		t.Error("the borders of the parts do not count")
	}
	one, two := base(), base()
	two.Name = "Refused"
	if Fingerprint(one, []string{"db"}) != Fingerprint(two, []string{"db"}) || Fingerprint(one, []string{"db", "{{ default }}"}) == Fingerprint(two, []string{"db", "{{ default }}"}) {
		t.Error("explicit words do not join, or {{ default }} does not split")
	}
}

func TestMaskMessage(t *testing.T) {
	for message, want := range map[string]string{
		"order 42 of ada@example.com failed":                 "order <num> of <email> failed",
		"no row 7F3d2a19-0b5c-4e7a-8f1d-9b1e64c0aa11":        "no row <uuid>",
		"bad pointer 0xc000012a80 at deadbeef99":             "bad pointer <hex> at <hex>",
		"GET https://a.example/x?user=7&b=c failed with 503": "GET https://<host>/x?<query> failed with <num>",
		"took 3.75 s, 12345678 rows, v1.2.3":                 "took <num>, <hex> rows, v<num>",
		"is it ready?":                                       "is it ready?",
		"user_17 in utf8":                                    "user_<num> in utf<num>",
		"":                                                   "",
		"facade of cafe":                                     "facade of cafe",
		`Unexpected token '<', "<!DOCTYPE "... is not valid JSON`:      `Unexpected token '<', "<!DOCTYPE "... is not valid JSON`,
		"mailto ada+x@mail.example.co.uk and (see http://b.example?q)": "mailto <email> and (see http://<host>?<query>)",
	} {
		if got := MaskMessage(message); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}

func TestFrameFile(t *testing.T) {
	for file, want := range map[string]string{
		"https://cdn.example.com/assets/index-BxT3k9aZ.js?v=2#x": "/assets/index.js",
		"https://a.example/main.3f2a9b1c.chunk.js":               "/main.chunk.js",
		"https://a.example/static/js/main.3f2a9b1c.js":           "/static/js/main.js",
		"webpack:///./src/cart.ts":                               "/src/cart.ts",
		"webpack-internal:///(app)/./src/cart.ts":                "/(app)/src/cart.ts",
		`C:\srv\app\cart.py`:                                     "/srv/app/cart.py",
		"/srv/releases/20261120131500/cart.go":                   "/srv/releases/*/cart.go",
		"/srv/app/UserController.php":                            "/srv/app/UserController.php",
		"file:///srv/app/x.mjs":                                  "/srv/app/x.mjs",
		"app:///main.jsbundle":                                   "/main.jsbundle",
		"https://a.example":                                      "",
		"Cart.java":                                              "Cart.java",
		"shopping-cart-overview.js":                              "shopping-cart-overview.js",
		"":                                                       "",
	} {
		if got := FrameFile(file); got != want {
			t.Errorf("%q: got %q, want %q", file, got, want)
		}
	}
}

func TestFrameFunction(t *testing.T) {
	for _, c := range []struct{ function, file, want string }{
		{"Object.checkout", "/a.js", "checkout"},
		{"async checkout", "/a.js", "checkout"},
		{"async*checkout", "/a.js", "checkout"},
		{"new Cart", "/a.js", "Cart"},
		{"Cart.add [as push]", "/a.js", "add"},
		{"outer/<", "/a.js", ""},
		{"outer/inner", "/a.js", "inner"},
		{"<anonymous>", "/a.js", ""},
		{"HTMLButtonElement.<anonymous>", "/a.js", ""},
		{"global code", "/a.js", ""},
		{"Cart.#sum", "/a.js", "sum"},
		{"main.(*Cart).Total", "/a.go", "main.(*Cart).Total"},
		{"com.acme.Cart.total", "Cart.java", "com.acme.Cart.total"},
		{"f", "", "f"},
	} {
		if got := FrameFunction(c.function, c.file); got != c.want {
			t.Errorf("%q in %q: got %q, want %q", c.function, c.file, got, c.want)
		}
	}
}

func TestIssueIDs(t *testing.T) {
	for _, number := range []uint64{0, 1, 31, 32, 1<<64 - 1, IssueNumber(7, "v1-x")} {
		id := IssueID(number)
		if got, ok := ParseIssueID(id); !ok || got != number || len(id) != 17 {
			t.Errorf("%d: %q reads %d %v", number, id, got, ok)
		}
	}
	for _, id := range []string{"", "iss_", "iss_000000000000", "iss_Z000000000000", "iss_000000000000u", "occ_0000000000000", "overview", "iss_00000000000000"} {
		if _, ok := ParseIssueID(id); ok {
			t.Errorf("%q is an id", id)
		}
	}
	if IssueNumber(1, "v1-x") == IssueNumber(2, "v1-x") {
		t.Error("two environments share an issue")
	}
}

// FuzzFingerprint checks for any input that equal occurrences have equal fingerprints.
func FuzzFingerprint(f *testing.F) {
	f.Add("TypeError", "order 42", "at f (a.js:1:2)", "{{ default }}")
	f.Add("", "https://a/?b", "f@b:1:1", "")
	f.Fuzz(func(t *testing.T, name, message, stack, explicit string) {
		group := func() string {
			o := &Occurrence{Name: name, Message: message, Stack: stack}
			o.Normalise()
			return Fingerprint(o, []string{explicit})
		}
		if a, b := group(), group(); a != b || len(a) != 35 {
			t.Errorf("%q and %q", a, b)
		}
		masked := MaskMessage(message)
		if strings.ContainsAny(masked, "0123456789") {
			t.Errorf("%q still holds a number: %q", message, masked)
		}
	})
}

func TestNormaliseCuts(t *testing.T) {
	o := &Occurrence{
		Message: strings.Repeat("é", MaxErrorMessage), Culprit: "", Stack: "", Tags: map[string]string{}, URL: "https://a.example/cart?x=1",
	}
	for n := range 150 {
		o.Frames = append(o.Frames, Frame{File: fmt.Sprintf("/app/%d.go", n), Line: -1, InApp: n == 3})
		o.Breadcrumbs = append(o.Breadcrumbs, Breadcrumb{Message: fmt.Sprint(n)})
		o.Tags[fmt.Sprintf("t%03d", n)] = strings.Repeat("v", 300)
	}
	o.Normalise()
	if len(o.Message) != MaxErrorMessage || o.Name != "Error" || o.Level != LevelError || o.Culprit != "/app/3.go" {
		t.Errorf("%d bytes, %q, %q, %q", len(o.Message), o.Name, o.Level, o.Culprit)
	}
	if len(o.Frames) != MaxFrames || o.Frames[89].File != "/app/89.go" || o.Frames[90].File != "/app/140.go" || o.Frames[99].File != "/app/149.go" || o.Frames[0].Line != 0 {
		t.Errorf("frames %+v", o.Frames[88:])
	}
	if len(o.Breadcrumbs) != MaxBreadcrumbs || o.Breadcrumbs[99].Message != "149" || len(o.Tags) != MaxTags || len(o.Tags["t000"]) != MaxTagBytes {
		t.Errorf("%d breadcrumbs, %d tags", len(o.Breadcrumbs), len(o.Tags))
	}
	page := &Occurrence{Name: "E", URL: "https://a.example/cart?x=1", Level: LevelInfo}
	page.Normalise()
	if page.Culprit != "/cart" || page.Level != LevelInfo {
		t.Errorf("%+v", page)
	}
}

func TestOccurrenceMask(t *testing.T) {
	const ada, hidden = "ada@acme.example", "a***************"
	o := Occurrence{
		Name: "E", Message: "no " + ada, Stack: ada, DistinctID: ada, URL: "https://x/?q=" + ada, Request: ErrorRequest{URL: ada},
		Breadcrumbs: []Breadcrumb{{Message: ada}}, Tags: map[string]string{"who": ada}, Extra: []byte(`{"a":["` + ada + `"]}`), Frames: []Frame{{File: ada}},
	}
	kept := o
	o.Mask()
	want := Occurrence{
		Name: "E", Message: "no " + hidden, Stack: hidden, DistinctID: hidden, URL: "https://x/?q=" + hidden, Request: ErrorRequest{URL: hidden},
		Breadcrumbs: []Breadcrumb{{Message: hidden}}, Tags: map[string]string{"who": hidden}, Extra: []byte(`{"a":["` + hidden + `"]}`), Frames: []Frame{{File: hidden}},
	}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got %+v\nwant %+v", o, want)
	}
	if kept.Breadcrumbs[0].Message != ada || kept.Tags["who"] != ada {
		t.Error("the original was changed")
	}
}

// BenchmarkFingerprint groups an error with the present and the former version, as for every incoming error.
func BenchmarkFingerprint(b *testing.B) {
	o := &Occurrence{Name: "TypeError", Message: "Cannot read properties of undefined (reading 'price')", Stack: chromeStack}
	o.Normalise()
	b.ReportAllocs()
	for b.Loop() {
		Fingerprint(o, nil)
		FormerFingerprint(o, nil)
	}
}

// TestValuesInMessages has pairs of messages that are one issue, and pairs that remain two.
func TestValuesInMessages(t *testing.T) {
	for _, pair := range [][2]string{
		{"balance is -5", "balance is 7"},
		{"offset +3", "offset 3"},
		{"x=-1.5", "x=2"},
		{"weight 1.5e-7", "weight 3"},
		{"1,234,567 rows", "12 rows"},
		{"1'234 rows", "12 rows"},
		{"price €12.50", "price €7"},
		{"price $1,200.00", "price $7"},
		{"price 12,50 €", "price 7 €"},
		{"price -12.50 EUR", "price 7 USD"},
		{"disk 93.5% full", "disk 7 % full"},
		{"timed out after 30s", "timed out after 500ms"},
		{"timed out after 1m30s", "timed out after 2 minutes"},
		{"body of 12.5 MB", "body of 300 bytes"},
		{"at 2026-11-27T10:00:00Z", "at 2026-11-28 10:00:00.123+01:00"},
		{"at Fri, 27 Nov 2026 10:00:00 GMT", "at Sat, 28 Nov 2026 09:00:00 +0100"},
		{"at Nov 27, 2026", "at 28 Dec 2026"},
		{"at 10:30 AM", "at 9:05 PM"},
		{"at 10:30:00", "at 09:05:59.123"},
		{"no route to 10.0.0.7", "no route to 2001:db8::1"},
		{"GET https://a.example/x failed", "GET https://b.example:8443/x failed"},
		{"getaddrinfo ENOTFOUND a.shop.example", "getaddrinfo ENOTFOUND db.example"},
		{"cannot read /srv/releases/a1b2c3d/x.txt", "cannot read /srv/releases/42/x.txt"},
		{"cannot read /home/ada/x.txt", "cannot read /home/bob/x.txt"},
		{"cannot read /tmp/phpAbC1", "cannot read /tmp/phpXyZ9"},
		{"Duplicate entry 'ada' for key 'email'", "Duplicate entry 'bob smith' for key 'email'"},
		{"For input string: \"twelve\"", "For input string: \"old\""},
		{"order 7F3d2a19-0b5c-4e7a-8f1d-9b1e64c0aa11", "order 0F3d2a19-0b5c-4e7a-8f1d-9b1e64c0aa12"},
		{"mail to ada@a.example", "mail to bob@b.example"},
	} {
		if one, two := MaskMessage(pair[0]), MaskMessage(pair[1]); one != two {
			t.Errorf("%q and %q are two issues: %q and %q", pair[0], pair[1], one, two)
		}
	}
	for _, pair := range [][2]string{
		{`column "a" does not exist`, `column "b" does not exist`},
		{"Duplicate entry 'ada' for key 'email'", "Duplicate entry 'ada' for key 'name'"},
		{"cart.total is not a function", "cart.price is not a function"},
		{"std::bad_alloc", "std::bad_cast"},
		{"cannot read /srv/app/a.txt", "cannot read /srv/app/b.txt"},
		{"GET https://a.example/x failed", "GET https://a.example/y failed"},
		{"timed out", "timed in"},
		{"a-1 is missing", "b-1 is missing"},
		{"Connection refused", "Connection reset"},
		{"module May is missing", "module June is missing"},
	} {
		if one, two := MaskMessage(pair[0]), MaskMessage(pair[1]); one == two {
			t.Errorf("%q and %q are one issue: %q", pair[0], pair[1], one)
		}
	}
}
