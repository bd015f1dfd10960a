package occurrence

import (
	"reflect"
	"testing"
	"unicode/utf8"
)

// The same error thrown by the same page, as the three engines report it.
const (
	chromeStack = `TypeError: Cannot read properties of undefined (reading 'price')
    at Cart.total (https://shop.example/assets/index-BxT3k9aZ.js?v=7:1:4520)
    at Array.map (<anonymous>)
    at async Object.checkout (https://shop.example/assets/index-BxT3k9aZ.js?v=7:1:9001)
    at HTMLButtonElement.<anonymous> (https://shop.example/assets/index-BxT3k9aZ.js?v=7:2:17)`
	firefoxStack = `total@https://shop.example/assets/index-BxT3k9aZ.js?v=7:1:4533
async*checkout@https://shop.example/assets/index-BxT3k9aZ.js?v=7:1:8998
init/<@https://shop.example/assets/index-BxT3k9aZ.js?v=7:2:12
`
	safariStack = `total@https://shop.example/assets/index-BxT3k9aZ.js?v=7:1:4541
map@[native code]
checkout@https://shop.example/assets/index-BxT3k9aZ.js?v=7:1:9004
@https://shop.example/assets/index-BxT3k9aZ.js?v=7:2:30`
)

// called returns a frame with the derived fields of its file and function.
func called(file, function string, line, column int, inApp bool) Frame {
	return Frame{File: file, Function: function, Line: line, Column: column, InApp: inApp}
}

func TestParseStack(t *testing.T) {
	const bundle = "https://shop.example/assets/index-BxT3k9aZ.js?v=7"
	for name, c := range map[string]struct {
		text string
		want ParsedStack
	}{
		"Chrome": {chromeStack, ParsedStack{Name: "TypeError", Message: "Cannot read properties of undefined (reading 'price')", Frames: []Frame{
			called(bundle, "Cart.total", 1, 4520, true),
			called("<anonymous>", "Array.map", 0, 0, false),
			called(bundle, "async Object.checkout", 1, 9001, true),
			called(bundle, "HTMLButtonElement.<anonymous>", 2, 17, true),
		}}},
		"Firefox": {firefoxStack, ParsedStack{Name: "", Message: "", Frames: []Frame{
			called(bundle, "total", 1, 4533, true), called(bundle, "async*checkout", 1, 8998, true), called(bundle, "init/<", 2, 12, true),
		}}},
		"Safari": {safariStack, ParsedStack{Name: "", Message: "", Frames: []Frame{
			called(bundle, "total", 1, 4541, true), called("[native code]", "map", 0, 0, false), called(bundle, "checkout", 1, 9004, true), called(bundle, "", 2, 30, true),
		}}},
		"Safari, module code": {"module code@https://a.example/x.js:1:2", ParsedStack{Name: "", Message: "", Frames: []Frame{called("https://a.example/x.js", "module code", 1, 2, true)}}},
		"Firefox, eval":       {"f@https://a.example/x.js line 3 > eval:1:2", ParsedStack{Name: "", Message: "", Frames: []Frame{called("https://a.example/x.js", "f", 1, 2, true)}}},
		"Chrome, eval": {"Error: x\n    at eval (eval at run (https://a.example/x.js:5:6), <anonymous>:1:2)", ParsedStack{Name: "Error", Message: "x", Frames: []Frame{
			called("https://a.example/x.js", "eval", 5, 6, true),
		}}},
		"Node": {
			"Error: no such file\nsecond line\n    at Object.<anonymous> (/srv/app/main.js:3:9)\n    at Module._compile (node:internal/modules/cjs/loader:1256:14)\n    at file:///srv/app/node_modules/x/i.mjs:1:1\n    at new Cart (/srv/app/cart.js:1:2)\n    at Cart.add [as push] (/srv/app/cart.js:9:9)",
			ParsedStack{Name: "Error", Message: "no such file\nsecond line", Frames: []Frame{
				called("/srv/app/main.js", "Object.<anonymous>", 3, 9, true),
				called("node:internal/modules/cjs/loader", "Module._compile", 1256, 14, false),
				called("file:///srv/app/node_modules/x/i.mjs", "", 1, 1, false),
				called("/srv/app/cart.js", "new Cart", 1, 2, true),
				called("/srv/app/cart.js", "Cart.add [as push]", 9, 9, true),
			}},
		},
		"Go": {
			"panic: index out of range [recovered]\n\ngoroutine 7 [running]:\nruntime/debug.Stack(0x1)\n\t/usr/local/go/src/runtime/debug/stack.go:24 +0x9f\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:884 +0x212\nmain.(*Cart).Total(0xc0000)\n\t/srv/app/cart.go:12 +0x1d\nnet/http.HandlerFunc.ServeHTTP(...)\n\t/opt/go/net/http/server.go:2109\ncreated by main.run in goroutine 1\n\t/srv/app/main.go:5 +0x3\n\ngoroutine 8 [select]:\nmain.other()\n\t/srv/app/other.go:1",
			ParsedStack{Name: "panic", Message: "index out of range", Frames: []Frame{
				called("/srv/app/cart.go", "main.(*Cart).Total", 12, 0, true),
				called("/opt/go/net/http/server.go", "net/http.HandlerFunc.ServeHTTP", 2109, 0, false),
				called("/srv/app/main.go", "main.run", 5, 0, true),
			}},
		},
		"Python": {
			"Traceback (most recent call last):\n  File \"/srv/app/main.py\", line 9, in <module>\n    run()\n  File \"/usr/lib/python3/site-packages/x.py\", line 2, in run\n    1/0\nZeroDivisionError: division by zero",
			ParsedStack{Name: "ZeroDivisionError", Message: "division by zero", Frames: []Frame{
				called("/usr/lib/python3/site-packages/x.py", "run", 2, 0, false), called("/srv/app/main.py", "<module>", 9, 0, true),
			}},
		},
		"Java": {
			"Exception in thread \"main\" java.lang.IllegalStateException: closed\n\tat com.acme.Cart.total(Cart.java:12)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n\tat com.acme.Native.call(Native Method)\nCaused by: java.io.IOException: x\n\tat com.acme.Other.f(Other.java:1)",
			ParsedStack{Name: "java.lang.IllegalStateException", Message: "closed", Frames: []Frame{
				called("Cart.java", "com.acme.Cart.total", 12, 0, true),
				called("Thread.java", "java.base/java.lang.Thread.run", 840, 0, false),
				called("Native Method", "com.acme.Native.call", 0, 0, true),
			}, Causes: []Cause{{Name: "java.io.IOException", Message: "x", Frames: []Frame{called("Other.java", "com.acme.Other.f", 1, 0, true)}}}},
		},
		"no stack":     {"something went wrong at noon", ParsedStack{}},
		"an address":   {"ada@example.com:12", ParsedStack{Name: "", Message: "", Frames: []Frame{called("example.com", "ada", 12, 0, true)}}},
		"empty":        {"", ParsedStack{}},
		"DOS newlines": {"Error: x\r\n    at f (a.js:1:2)\r\n", ParsedStack{Name: "Error", Message: "x", Frames: []Frame{called("a.js", "f", 1, 2, true)}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ParseStack(c.text); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, c.want)
			}
		})
	}
}

func FuzzParseStack(f *testing.F) {
	for _, seed := range []string{chromeStack, firefoxStack, safariStack, "goroutine 1 [running]:\nmain.f()\n\t/a.go:1", "Traceback (most recent call last):\n  File \"x\", line 1, in f\nE: m", "at f(A.java:1)", "at (:::)", "@:1:2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed := ParseStack(text)
		if len(parsed.Frames) > maxStackLines {
			t.Errorf("%d frames", len(parsed.Frames))
		}
		for _, frame := range parsed.Frames {
			if frame.Line < 0 || frame.Column < 0 {
				t.Errorf("frame %+v", frame)
			}
		}
		o := Occurrence{Stack: text}
		o.Normalise()
		if o.Name == "" || o.Level != LevelError || len(o.Stack) > MaxErrorStack || len(o.Frames) > MaxFrames {
			t.Errorf("normalised to %+v", o)
		}
		if utf8.ValidString(text) && (!utf8.ValidString(o.Message) || !utf8.ValidString(o.Stack) || !utf8.ValidString(o.Culprit)) {
			t.Errorf("cutting broke the text: %+v", o)
		}
	})
}
