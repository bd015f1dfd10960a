package occurrence

import (
	"fmt"
	"strings"
	"testing"
)

// TestStacksOfRuntimes parses stacks in the formats of many language runtimes. It checks the name, the message and the
// causes. It also checks the function, file, line and column of each call, with a mark for calls of the application.
func TestStacksOfRuntimes(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"J2 .NET":   {"   at Shop.Cart.Total() in Cart.cs:line 42", "|;*Shop.Cart.Total Cart.cs:42:0"},
		"J2 PHP":    {"#0 Cart.php(42): total()", "|;*total Cart.php:42:0"},
		"J2 Ruby":   {"cart.rb:42:in 'total'", "|;*total cart.rb:42:0"},
		"Ruby 3.3":  {"cart.rb:42:in `total'", "|;*total cart.rb:42:0"},
		"J2 Dart":   {"#0 Cart.total (cart.dart:42:3)", "|;*Cart.total cart.dart:42:3"},
		"J2 Elixir": {"lib/cart.ex:42: Cart.total/1", "|;*Cart.total/1 lib/cart.ex:42:0"},
		"J2 Rust":   {"   3: shop::cart::total\n             at ./src/cart.rs:42:9", "|;*shop::cart::total ./src/cart.rs:42:9"},
		".NET, nested": {
			"Unhandled exception. System.Reflection.TargetInvocationException: Exception has been thrown by the target of an invocation.\n ---> System.InvalidOperationException: no cart\n   at Shop.Cart.Total(Int32 id) in /src/Cart.cs:line 42\n   --- End of inner exception stack trace ---\n   at System.RuntimeMethodHandle.InvokeMethod(Object target)\n",
			"System.Reflection.TargetInvocationException|Exception has been thrown by the target of an invocation.;System.RuntimeMethodHandle.InvokeMethod :0:0 <- System.InvalidOperationException|no cart;*Shop.Cart.Total /src/Cart.cs:42:0",
		},
		".NET, German": {"   bei Shop.Cart.Total() in C:\\src\\Cart.cs:Zeile 42.", "|;*Shop.Cart.Total C:\\src\\Cart.cs:42:0"},
		"Mono":         {"  at Shop.Cart.Total () [0x00012] in /src/Cart.cs:42 ", "|;*Shop.Cart.Total /src/Cart.cs:42:0"},
		"PHP": {
			"PHP Fatal error:  Uncaught TypeError: no cart in /srv/Cart.php:17\nStack trace:\n#0 /srv/Shop.php(42): App\\Cart->total(Object(App\\User), 'a')\n#1 [internal function]: App\\Shop->run()\n#2 {main}\n  thrown in /srv/Cart.php on line 17",
			"TypeError|no cart;*App\\Cart::total /srv/Cart.php:17:0;*App\\Shop::run /srv/Shop.php:42:0; [internal function]:0:0",
		},
		"Ruby": {
			"/srv/cart.rb:42:in 'Shop::Cart#total': no cart (KeyError)\n\tfrom /usr/lib/ruby/gems/3.4/gems/rack/x.rb:3:in 'call'\n\tfrom main.rb:1:in '<main>'",
			"KeyError|no cart;*Shop::Cart#total /srv/cart.rb:42:0;call /usr/lib/ruby/gems/3.4/gems/rack/x.rb:3:0;*<main> main.rb:1:0",
		},
		"Ruby, the title above": {"KeyError: no cart\n  app/cart.rb:42:in `total'", "KeyError|no cart;*total app/cart.rb:42:0"},
		"Dart": {
			"Unhandled exception:\nFormatException: no cart\n#0      List.[] (dart:core-patch/growable_array.dart:264:36)\n#1      Cart.total (package:shop/cart.dart:42:3)\n<asynchronous suspension>\n#2      main.<anonymous closure> (file:///srv/main.dart:3)",
			"FormatException|no cart;List.[] dart:core-patch/growable_array.dart:264:36;*Cart.total package:shop/cart.dart:42:3;*main.<anonymous closure> file:///srv/main.dart:3:0",
		},
		"Elixir": {
			"** (ArithmeticError) bad argument in arithmetic expression\n    :erlang.+(1, nil)\n    (shop 0.1.0) lib/shop/cart.ex:42: Shop.Cart.total/1\n    (elixir 1.15.0) lib/enum.ex:1693: Enum.map/2",
			"ArithmeticError|bad argument in arithmetic expression;:erlang.+(1, nil) :0:0;*Shop.Cart.total/1 lib/shop/cart.ex:42:0;Enum.map/2 lib/enum.ex:1693:0",
		},
		"Rust": {
			"thread 'main' panicked at src/cart.rs:42:9:\nno cart\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/abc/library/std/src/panicking.rs:645:5\n   1: shop::cart::total\n             at ./src/cart.rs:42:9",
			"panic|no cart;rust_begin_unwind /rustc/abc/library/std/src/panicking.rs:645:5;*shop::cart::total ./src/cart.rs:42:9",
		},
		"Rust, no calls":    {"thread 'main' panicked at src/cart.rs:42:9:\nno cart\nnote: run with RUST_BACKTRACE=1", "panic|no cart;* src/cart.rs:42:9"},
		"Rust, before 1.73": {"thread 'main' panicked at 'no cart', src/cart.rs:42:9", "panic|no cart;* src/cart.rs:42:9"},
		"Swift":             {"Fatal error: no cart\n0 0x00000000004012ab Cart.total() + 23 in shop at /srv/Sources/shop/Cart.swift:42:9", "Fatal error|no cart;*Cart.total() /srv/Sources/shop/Cart.swift:42:9"},
		"Swift, a report":   {"0   shop    0x0000000100003f2c Cart.total() + 42 (Cart.swift:42)", "|;*Cart.total() Cart.swift:42:0"},
		"Swift, symbols":    {"0   Shop                  0x000000010f0c4d55 $s4Shop4CartC5totalyyF + 21", "|;*$s4Shop4CartC5totalyyF :0:0"},
		"Hermes":            {"Error: no cart\n    at total (address at index.android.bundle:1:4520)\n    at apply (native)", "Error|no cart;*total index.android.bundle:1:4520;apply native:0:0"},
		"Java, a cause": {
			"java.lang.RuntimeException: An error occurred\n\tat android.os.AsyncTask$3.done(AsyncTask.java:353)\nCaused by: java.lang.OutOfMemoryError: heap\n\tat shop.Cart.load(Cart.java:7)\n\t... 3 more",
			"java.lang.RuntimeException|An error occurred;android.os.AsyncTask$3.done AsyncTask.java:353:0 <- java.lang.OutOfMemoryError|heap;*shop.Cart.load Cart.java:7:0",
		},
	} {
		parsed := ParseStack(tc.text)
		got := stackLine(parsed.Name, parsed.Message, parsed.Frames)
		for _, cause := range parsed.Causes {
			got += " <- " + stackLine(cause.Name, cause.Message, cause.Frames)
		}
		if got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, tc.want)
		}
	}
}

// stackLine writes an error and its calls.
func stackLine(name, message string, frames []Frame) string {
	words := []string{name + "|" + message}
	for _, frame := range frames {
		own := ""
		if frame.InApp {
			own = "*"
		}
		words = append(words, fmt.Sprintf("%s%s %s:%d:%d", own, frame.Function, frame.File, frame.Line, frame.Column))
	}
	return strings.Join(words, ";")
}

// TestIssuesOfTextsContinue checks a stack in which the former grouping found no call. Its issue continues.
func TestIssuesOfTextsContinue(t *testing.T) {
	o := &Occurrence{Name: "KeyError", Message: "no cart", Stack: "cart.rb:42:in 'total'"}
	o.Normalise()
	before := &Occurrence{Name: "KeyError", Message: "no cart"}
	if got, want := FormerFingerprint(o, nil), FormerFingerprint(before, nil); got != want || len(o.Frames) != 1 {
		t.Errorf("the former issue is %s, was %s; frames %+v", got, want, o.Frames)
	}
}
