package occurrence

import (
	"regexp"
	"strings"
)

// FrameFunction returns the function of a frame as grouping sees it. Engines name the same JavaScript function
// differently. V8 puts the receiver and words such as async and new in front. SpiderMonkey marks inner functions by /<.
// Each engine has a different word for code outside of functions. FrameFunction returns only the function's own name.
// It is empty for a function without a name. In other languages the name is unchanged.
//
//	Object.checkout   async checkout   async*checkout    checkout
//	new Cart          Cart                               Cart
//	<anonymous>       outer/<          global code       ""
func FrameFunction(function, file string) string {
	if !isScript(file) {
		return function
	}
	if at := strings.Index(function, " [as "); at >= 0 {
		function = function[:at]
	}
	for _, prefix := range []string{"async*", "promise callback*", "setTimeout handler*", "EventListener.handleEvent*", "async ", "new ", "get ", "set ", "static "} {
		function = strings.TrimPrefix(function, prefix)
	}
	function = strings.TrimSpace(function)
	if strings.HasSuffix(function, "<") || strings.HasSuffix(function, " code") {
		return ""
	}
	if at := strings.LastIndexByte(function, '/'); at >= 0 {
		function = function[at+1:]
	}
	if at := strings.LastIndexByte(function, '.'); at >= 0 {
		function = function[at+1:]
	}
	if function == "<anonymous>" || function == "anonymous" || function == "?" || function == "(anonymous function)" {
		return ""
	}
	return strings.TrimPrefix(function, "#")
}

// framePart is a frame as grouping sees it: its module or file, and the function. It uses the module if the frame has
// one that says more than the file. JavaScript has no modules in this sense.
func framePart(frame *Frame, version int) string {
	function := frame.Function
	if version == FingerprintVersion && isElixir(frame) {
		function = withoutArguments(function)
	}
	if frame.Module != "" && !isScriptFile(frame.File) {
		return stripGenerated(frame.Module, version) + "\x00" + stripGenerated(function, version)
	}
	file := frameFile(frame.File, version)
	return file + "\x00" + stripGenerated(FrameFunction(function, file), version)
}

// isElixir reports whether the code of a frame is Elixir or Erlang.
func isElixir(frame *Frame) bool {
	switch frame.File[strings.LastIndexByte(frame.File, '.')+1:] {
	case "ex", "exs", "erl", "eex", "heex", "leex":
		return true
	}
	return strings.HasPrefix(frame.Module, "Elixir.") || strings.HasPrefix(frame.Function, "Elixir.")
}

// withoutArguments cuts the arguments off a call. Elixir's runtime writes them in place of the arity if no clause of
// the function matched.
func withoutArguments(function string) string {
	if open := strings.IndexByte(function, '('); open > 0 {
		return function[:open] + "()"
	}
	return function
}

// isScriptFile reports whether a file has the extension of JavaScript, or is a page.
func isScriptFile(file string) bool {
	at := strings.LastIndexByte(FrameFile(file), '.')
	return at >= 0 && isScript(file)
}

// generatedNames lists the texts that compilers and runtimes put into names. They differ from one build or process to
// the next.
//
//nolint:gochecknoglobals // compiled once, never changed
var generatedNames = []struct {
	// needs is a text without which the rule cannot match.
	needs string
	rule  *regexp.Regexp
	with  string
	// added is set if FingerprintVersion added the rule.
	added bool
}{
	{"$$Lambda", regexp.MustCompile(`\$\$Lambda(?:\$\d+)?(?:/(?:0x)?[0-9a-f]+)?`), "$$$$Lambda", true},
	{"LambdaForm", regexp.MustCompile(`(LambdaForm\$\w+)/(?:0x)?[0-9a-f]+`), "${1}", true},
	{"_$$_", regexp.MustCompile(`_\$\$_(?:jvst|javassist_)[0-9a-f_]+`), "$$$$", true},
	{"$", regexp.MustCompile(`\$(HibernateProxy|ByteBuddy|MockitoMock|auxiliary)\$\w+`), "$$${1}", true},
	{"jdk.proxy", regexp.MustCompile(`jdk\.proxy\d+`), "jdk.proxy", true},
	{"Accessor", regexp.MustCompile(`Generated(\w+)Accessor\d+`), "Generated${1}Accessor", true},
	{"_closure", regexp.MustCompile(`_closure\d+`), "_closure", true},
	{"eval", regexp.MustCompile(`\beval\d+`), "eval", true},
	{"__", regexp.MustCompile(`_{2,}\d+(?:_\d+)*`), "__", true},
	{"_app_views_", regexp.MustCompile(`(_app_views_\w*?[a-z])_+\d+(?:_\d+)*`), "${1}__", true},
	{"__TwigTemplate_", regexp.MustCompile(`__TwigTemplate_[0-9a-f]+`), "__TwigTemplate_", true},
	{"content_", regexp.MustCompile(`\bcontent_[0-9a-f]{10,}_\d+`), "content_", true},
	{"Container", regexp.MustCompile(`\bContainer[A-Za-z0-9]{7}\\`), `Container\`, true},
	{"@anonymous", regexp.MustCompile(`@anonymous\x00?[^\x00]*?(?:\.php|code)(?::\d+)?(?:\$[0-9a-f]+)?`), "@anonymous", true},
	{"Display", regexp.MustCompile(`DisplayClass\d+(?:_\d+)*`), "DisplayClass", true},
	{"Anon", regexp.MustCompile(`(AnonStorey|AnonymousType)\d+(?:_\d+)*`), "${1}", true},
	{"|", regexp.MustCompile(`\|\d+_\d+`), "|", true},
	{"lambda_method", regexp.MustCompile(`lambda_method\d+`), "lambda_method", true},
	{"@", regexp.MustCompile(`@\d+(?:-\d+)?`), "@", true},
	{"#", regexp.MustCompile(`#\d+`), "#", true},
	{"[", regexp.MustCompile(`\[[0-9a-f]{8,16}\]`), "", true},
	{"_block_invoke", regexp.MustCompile(`_block_invoke(?:_\d+)?`), "_block_invoke", true},
	{"-range", regexp.MustCompile(`-range\d+`), "-range", true},
	{".", regexp.MustCompile(`\.(?:isra|constprop|part|cold|llvm|lto_priv)\.\d+`), "", true},
	{"::h", regexp.MustCompile(`::h[0-9a-f]{16}$`), "", false},
	{"$$", regexp.MustCompile(`\$\$[A-Za-z]*(?:By[A-Za-z]+)?(?:\$\$[0-9a-f]+|\$[0-9a-f]{5,}|/0x[0-9a-f]+|\d+)?`), "$$$$", false},
	{"$", regexp.MustCompile(`\$(?:Proxy)?\d+`), "$$", false},
	{"__", regexp.MustCompile(`__\d+(?:_\d+)*`), "__", false},
	{"{closure:", regexp.MustCompile(`\{closure:.*:\d+\}`), "{closure}", false},
	{"block ", regexp.MustCompile(`^block (?:\(\d+ levels\) )?in `), "", false},
	{".func", regexp.MustCompile(`\.func\d+(?:\.\d+)*`), ".func", false},
	{"wrap", regexp.MustCompile(`\.(?:gowrap|deferwrap)\d+`), ".wrap", false},
	{"class@anonymous", regexp.MustCompile(`class@anonymous.*`), "class@anonymous", false},
}

// stripGenerated removes from a name the texts that compilers and runtimes add.
//
//	shop::pay::h0123456789abcdef          shop::pay
//	lambda$main$0                         lambda$main$
//	Cart$$EnhancerBySpringCGLIB$$1f2e3d   Cart$
//	<Total>b__12_0                        <Total>b__
//	main.func1.2                          main.func
//	block (2 levels) in total             total
func stripGenerated(name string, version int) string {
	if !strings.ContainsAny(name, digits+"$@ {") {
		return name // no rule matches
	}
	for i := range generatedNames {
		generated := &generatedNames[i]
		if strings.Contains(name, generated.needs) && (!generated.added || version == FingerprintVersion) {
			name = generated.rule.ReplaceAllString(name, generated.with)
		}
	}
	return name
}
