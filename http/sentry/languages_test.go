package sentry_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"svc/domain/occurrence"
	"svc/http/sentry"
)

// reported returns an event as the service stores it.
func reported(t *testing.T, payload string) *occurrence.Occurrence {
	t.Helper()
	o := parse(t, payload).Occurrence()
	o.Normalise()
	return o
}

// thrown returns an event of a platform with one exception; frames have the oldest call first.
func thrown(platform, kind, value string, frames ...string) string {
	return `{"platform":"` + platform + `","exception":{"values":[{"type":"` + kind + `","value":"` + value + `","stacktrace":{"frames":[` + strings.Join(frames, ",") + `]}}]}}`
}

// TestFaultsOfEveryLanguage has two faults per language, in the form that the language's SDK sends. Their topmost
// frames belong to the runtime, a library or the SDK itself. They must be two issues, and the culprit the application's
// call. The same fault in another build or process must be the same issue.
func TestFaultsOfEveryLanguage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// event makes the fault at a location in the application; build differs from one build or process to the next.
		event   func(place, build string) string
		culprit string
		inApp   []bool
	}{
		"Java": {func(place, build string) string {
			return thrown("java", "NumberFormatException", "For input string", `{"module":"com.acme.`+place+`$$EnhancerBySpringCGLIB$$`+build+`","function":"handle","filename":"<generated>"}`,
				`{"module":"com.acme.`+place+`","function":"handle","filename":"Handler.java","lineno":12}`,
				`{"module":"java.lang.Integer","function":"parseInt","filename":"Integer.java","lineno":652}`,
				`{"module":"java.lang.NumberFormatException","function":"forInputString","filename":"NumberFormatException.java","lineno":67}`)
		}, "handle (com.acme.Orders)", []bool{false, false, true, false}},
		"Android": {func(place, _ string) string {
			return thrown("java", "IllegalStateException", "closed", `{"module":"android.os.Handler","function":"dispatchMessage","filename":"Handler.java","native":false}`,
				`{"module":"com.acme.`+place+`$onCreate$1","function":"invoke","filename":"Handler.kt","lineno":9}`, `{"module":"kotlinx.coroutines.DispatchedTask","function":"run","filename":"DispatchedTask.kt"}`)
		}, "invoke (com.acme.Orders$onCreate$1)", []bool{false, true, false}},
		"Python": {func(place, _ string) string {
			return thrown("python", "JSONDecodeError", "Expecting value", `{"filename":"shop/`+place+`.py","abs_path":"/srv/shop/`+place+`.py","module":"shop.`+place+`","function":"load","lineno":3,"in_app":true}`,
				`{"filename":"json/__init__.py","abs_path":"/usr/lib/python3.11/json/__init__.py","module":"json","function":"loads","lineno":346}`,
				`{"filename":"json/decoder.py","module":"json.decoder","function":"decode","lineno":337}`)
		}, "load (shop.Orders)", []bool{false, false, true}},
		"Ruby": {func(place, _ string) string {
			return thrown("ruby", "KeyError", "key not found", `{"abs_path":"/srv/app/models/`+place+`.rb","filename":"app/models/`+place+`.rb","function":"block (2 levels) in total","lineno":4,"in_app":true}`,
				`{"abs_path":"/usr/local/bundle/gems/activesupport-7.1/lib/x.rb","filename":"active_support/x.rb","function":"fetch","lineno":8}`)
		}, "block (2 levels) in total (app/models/Orders.rb)", []bool{false, true}},
		"PHP": {func(place, _ string) string {
			return thrown("php", "TypeError", "wrong", `{"filename":"/src/`+place+`.php","abs_path":"/srv/src/`+place+`.php","function":"App\\`+place+`::total","lineno":8,"in_app":true}`,
				`{"filename":"/vendor/symfony/http-kernel/Kernel.php","abs_path":"/srv/vendor/symfony/http-kernel/Kernel.php","function":"handle","lineno":1}`)
		}, `App\Orders::total (/src/Orders.php)`, []bool{false, true}},
		".NET": {func(place, build string) string {
			return thrown("csharp", "NullReferenceException", "x", `{"module":"Shop.`+place+`","function":"<Total>b__`+build[:2]+`_0","package":"Shop, Version=1.0.0.0"}`,
				`{"module":"System.Linq.Enumerable","function":"First","package":"System.Linq, Version=8.0.0.0"}`)
		}, "<Total>b__12_0 (Shop.Orders)", []bool{false, true}},
		"Rust": {func(place, build string) string {
			return thrown("native", "panic", "boom", `{"function":"std::rt::lang_start","package":"/srv/shop","in_app":false}`,
				`{"function":"shop::`+place+`::pay::h0123456789`+build+`","abs_path":"/srv/shop/src/pay.rs","filename":"pay.rs","lineno":3,"in_app":true}`,
				`{"function":"core::panicking::panic_fmt","in_app":true}`, `{"function":"rust_begin_unwind","in_app":true}`,
				`{"function":"std::panicking::begin_panic_handler::{{closure}}","in_app":true}`, `{"function":"std::panicking::rust_panic_with_hook","in_app":true}`,
				`{"function":"sentry_panic::panic_handler","in_app":true}`, `{"function":"<sentry_core::hub::Hub>::capture","in_app":true}`)
		}, "shop::Orders::pay::h0123456789123abc (pay.rs)", []bool{false, false, false, false, false, false, true, false}},
		"Go": {func(place, _ string) string {
			return thrown("go", "runtime.Error", "nil pointer", `{"function":"`+place+`.Total","module":"example.com/shop/cart","abs_path":"/src/cart.go","lineno":1,"in_app":true}`,
				`{"function":"(*Encoder).Encode","module":"encoding/json","abs_path":"/usr/lib/go/stream.go"}`, `{"function":"Recover","module":"github.com/getsentry/sentry-go","abs_path":"/src/x.go","in_app":true}`)
		}, "Orders.Total (example.com/shop/cart)", []bool{false, false, true}},
		"Cocoa": {func(place, _ string) string {
			return thrown("cocoa", "NSRangeException", "out", `{"function":"UIApplicationMain","package":"/System/Library/PrivateFrameworks/UIKitCore.framework/UIKitCore","in_app":false}`,
				`{"function":"-[`+place+` pay]","package":"/var/containers/Bundle/Application/1/Shop.app/Shop","in_app":true}`,
				`{"function":"-[SentryHub captureError:]","package":"/var/Shop.app/Frameworks/Sentry.framework/Sentry","in_app":true}`)
		}, "-[Orders pay]", []bool{false, true, false}},
		"Elixir": {func(place, _ string) string {
			return thrown("elixir", "KeyError", "x", `{"filename":"lib/plug/builder.ex","function":"Plug.Builder.call/2","module":"Plug.Builder","in_app":false}`,
				`{"filename":"lib/shop/cart.ex","function":"Shop.`+place+`.total/1","module":"Shop.`+place+`","lineno":3,"in_app":false}`)
		}, "Shop.Orders.total/1 (Shop.Orders)", []bool{false, false}},
		"Dart": {func(place, _ string) string {
			return thrown("other", "StateError", "x", `{"abs_path":"package:flutter/src/gestures.dart","filename":"gestures.dart","package":"flutter","function":"onTap"}`,
				`{"abs_path":"package:shop/cart.dart","filename":"cart.dart","package":"shop","function":"`+place+`.total","lineno":3}`,
				`{"abs_path":"dart:core-patch/list.dart","filename":"list.dart","function":"List.[]"}`)
		}, "Orders.total (cart.dart)", []bool{false, true, false}},
		"JavaScript": {func(place, build string) string {
			return thrown("javascript", "Error", "x", `{"filename":"https://shop.example/index-`+map[string]string{"123abc": "BxT3k9aZ", "456def": "D2kQ9x_1"}[build]+`.js","function":"pay`+place+`","lineno":1,"colno":5}`,
				`{"filename":"https://shop.example/node_modules/@sentry/browser/x.js","function":"wrap","in_app":true}`, `{"filename":"<anonymous>","function":"Array.map"}`)
		}, "payOrders (/index.js)", nil},
	} {
		o := reported(t, tc.event("Orders", "123abc"))
		if o.Culprit != tc.culprit {
			t.Errorf("%s: the culprit is %q, want %q", name, o.Culprit, tc.culprit)
		}
		for i, want := range tc.inApp {
			if o.Frames[i].InApp != want {
				t.Errorf("%s: in-app of %+v is not %v", name, o.Frames[i], want)
			}
		}
		same, other := reported(t, tc.event("Orders", "456def")), reported(t, tc.event("Customers", "123abc"))
		if occurrence.Fingerprint(other, nil) == occurrence.Fingerprint(o, nil) {
			t.Errorf("%s: two faults are one issue", name)
		}
		if occurrence.Fingerprint(same, nil) != occurrence.Fingerprint(o, nil) {
			t.Errorf("%s: another build is another issue: %+v and %+v", name, o.Frames, same.Frames)
		}
	}
}

// TestEventsWithoutAnException checks that each of them has a title, a culprit and a group.
func TestEventsWithoutAnException(t *testing.T) {
	t.Parallel()
	frames := func(function string) string {
		return `{"frames":[{"function":"main","filename":"main.swift","in_app":true},{"function":"` + function + `","filename":"pay.swift","in_app":true}]}`
	}
	groups := map[string]string{}
	for name, tc := range map[string]struct{ payload, title, culprit string }{
		"bare stack":       {`{"stacktrace":` + frames("a") + `}`, "Stack", "a (pay.swift)"},
		"another stack":    {`{"stacktrace":` + frames("b") + `}`, "Stack", "b (pay.swift)"},
		"crashed thread":   {`{"threads":{"values":[{"current":true,"stacktrace":` + frames("x") + `},{"crashed":true,"stacktrace":` + frames("c") + `}]}}`, "Stack", "c (pay.swift)"},
		"present thread":   {`{"threads":{"values":[{"stacktrace":` + frames("x") + `},{"current":true,"stacktrace":` + frames("d") + `}]}}`, "Stack", "d (pay.swift)"},
		"any thread":       {`{"threads":{"values":[{"id":1},{"stacktrace":` + frames("e") + `}]}}`, "Stack", "e (pay.swift)"},
		"message and one":  {`{"message":"disk is full","threads":[{"current":true,"stacktrace":` + frames("f") + `}]}`, "Message: disk is full", "f (pay.swift)"},
		"a message":        {`{"message":"disk is full"}`, "Message: disk is full", ""},
		"a template":       {`{"template":{"filename":"cart.html","lineno":7,"context_line":"{% x %}"}}`, "Stack", "cart.html"},
		"transaction":      {`{"transaction":"GET /pay"}`, "Event: GET /pay", "GET /pay"},
		"other, and where": {`{"transaction":"GET /cart","request":{"url":"https://shop.example/cart"}}`, "Event: GET /cart", "GET /cart"},
		"nothing":          {`{}`, "Event", ""},
	} {
		o := reported(t, tc.payload)
		if title := occurrence.IssueTitle(o.Name, o.Message); title != tc.title || o.Culprit != tc.culprit {
			t.Errorf("%s: %q, %q; want %q, %q", name, title, o.Culprit, tc.title, tc.culprit)
		}
		fingerprint := occurrence.Fingerprint(o, nil)
		if same := groups[fingerprint]; same != "" {
			t.Errorf("%s is one issue with %s", name, same)
		}
		groups[fingerprint] = name
	}
}

// TestMessagesWithParameters checks that messages are shown formatted and grouped by their template.
func TestMessagesWithParameters(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ one, two, shown string }{
		"Python": {
			`{"logentry":{"message":"order %s of %s failed","params":["17","ada"],"formatted":"order 17 of ada failed"}}`,
			`{"logentry":{"message":"order %s of %s failed","params":["x","bob"],"formatted":"order x of bob failed"}}`, "order 17 of ada failed",
		},
		"by name":       {`{"logentry":{"message":"%(who)s of %(n)03d%%","params":{"who":"ada","n":7}}}`, `{"logentry":{"message":"%(who)s of %(n)03d%%","params":{"who":"bob","n":8}}}`, "ada of 7%"},
		"braces":        {`{"message":{"message":"{} pays {:.2f}","params":["ada",2.5]}}`, `{"message":{"message":"{} pays {:.2f}","params":["bob",3]}}`, "ada pays 2.5"},
		"numbered":      {`{"message":{"message":"{1} before {0}","params":["a","b"]}}`, `{"message":{"message":"{1} before {0}","params":["c","d"]}}`, "b before a"},
		"too few":       {`{"message":{"message":"%s and %s","params":["a"]}}`, `{"message":{"message":"%s and %s","params":["b"]}}`, "a and %s"},
		"object values": {`{"message":{"message":"got %s","params":[{"a":1}]}}`, `{"message":{"message":"got %s","params":[{"a":"b"}]}}`, `got {"a":1}`},
	} {
		one, two := reported(t, tc.one), reported(t, tc.two)
		if one.Message != tc.shown {
			t.Errorf("%s: shown as %q, want %q", name, one.Message, tc.shown)
		}
		if occurrence.Fingerprint(one, nil) != occurrence.Fingerprint(two, nil) {
			t.Errorf("%s: %q and %q are two issues", name, one.Message, two.Message)
		}
	}
	if occurrence.Fingerprint(reported(t, `{"message":{"message":"a %s","params":["x"]}}`), nil) == occurrence.Fingerprint(reported(t, `{"message":{"message":"b %s","params":["x"]}}`), nil) {
		t.Error("two templates are one issue")
	}
}

// TestEnvelopesOfSDKs reads envelopes that published SDKs sent from small programs: sentry-sdk 2.75.0 for Python,
// io.sentry:sentry 8.62.0 for Java, sentry-go 0.50.0, and the crate sentry 0.47.0. Faults in different places of the
// application are different issues, wherever in the runtime they end. Another build does not change the issue.
func TestEnvelopesOfSDKs(t *testing.T) {
	t.Parallel()
	type report struct{ title, culprit string }
	for language, want := range map[string][]report{
		"python": {
			{"ValueError: negative amount -3", "charge (__main__)"},
			{"JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", "parse (__main__)"},
			{"Message: order 17 of ada failed", "shop.pay"},
			{"Message: disk is nearly full", ""},
		},
		"java": {
			{`NumberFormatException: For input string: "twelve"`, "total (com.acme.shop.Orders)"},
			{`NumberFormatException: For input string: "old"`, "age (com.acme.shop.Orders$Customers)"},
			{"IllegalStateException: order 17 cannot be shipped", "ship (com.acme.shop.Orders)"},
			{"Message: order 17 of ada failed", "main (com.acme.shop.Main)"},
			{`NullPointerException: Cannot invoke "Object.hashCode()" because "<local0>" is null`, "lambda$main$3 (com.acme.shop.Main)"},
		},
		"go": {
			{"runtime.boundsError: runtime error: index out of range [2] with length 0", "(*Orders).Total (example.com/shop/cart)"},
			{"runtime.boundsError: runtime error: index out of range [2] with length 0", "(*Customers).Age (example.com/shop/cart)"},
			{"*fmt.wrapError: reserving 7: out of stock", "main (main)"},
			{"*json.SyntaxError: invalid character 'n' looking for beginning of object key string", "main (main)"},
			{"Message: disk is nearly full", "main (main)"},
		},
		"rust": {
			{"panic: index out of bounds: the len is 1 but the index is 2", "shop::orders::pay (main.rs)"},
			{"panic: called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }", "shop::customers::age (main.rs)"},
			{"ParseIntError: invalid digit found in string", "shop::main (main.rs)"},
			{"Message: disk is nearly full", "shop::main (main.rs)"},
		},
	} {
		groups := map[string]int{}
		for i, want := range want {
			payload := captured(t, language, i)
			o := reported(t, payload)
			if title := occurrence.IssueTitle(o.Name, o.Message); title != want.title || o.Culprit != want.culprit || len(o.Details.Problems) > 0 {
				t.Errorf("%s %d: %q, %q, %v; want %+v", language, i, title, o.Culprit, o.Details.Problems, want)
			}
			group := occurrence.Fingerprint(o, nil)
			if first, taken := groups[group]; taken {
				t.Errorf("%s: %d and %d are one issue", language, first, i)
			}
			groups[group] = i
			if again := occurrence.Fingerprint(reported(t, rebuilt(payload)), nil); again != group {
				t.Errorf("%s %d: another build is another issue", language, i)
			}
		}
	}
}

// captured returns the event of an envelope that an SDK sent.
func captured(t *testing.T, language string, n int) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", language, strconv.Itoa(n)+".envelope"))
	if err != nil {
		t.Fatal(err)
	}
	_, items, err := sentry.Split(body)
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	return string(items[0].Payload)
}

// rebuilt returns an event as another build of the application sends it: with moved lines, and other numbers in the
// names that the compiler makes.
func rebuilt(payload string) string {
	payload = regexp.MustCompile(`"lineno": ?(\d+)`).ReplaceAllString(payload, `"lineno":1$1`)
	payload = regexp.MustCompile(`(lambda\$main\$|main\.func)(\d)`).ReplaceAllString(payload, `${1}1$2`)
	return strings.ReplaceAll(payload, "shop@1.2.3", "shop@1.2.4")
}
