package occurrence

import (
	"slices"
	"strings"
)

// FrameOrigin locates the code of a frame, as the client reports it in addition to file and function. Every field may
// be empty.
type FrameOrigin struct {
	// Platform is the language or system, in Sentry's words: javascript, node, python, java, csharp, ruby, php, go,
	// native, cocoa, elixir, dart. Empty if unknown.
	Platform string
	// AbsPath is the full path or address of the file, Package the library or program that the code was linked into.
	AbsPath, Package string
	// InApp is the client's own statement, which takes precedence over any rule.
	InApp *bool
}

// Judge decides whether the frame is the application's own code: by the client's statement, else by path, module and
// package, with rules for the platform. The code of an error SDK never is.
func (f *Frame) Judge(origin FrameOrigin) {
	switch {
	case f.isReporter():
		f.InApp = false
	case origin.InApp != nil:
		f.InApp = *origin.InApp
	default:
		f.InApp = f.readsLikeOwn(origin)
	}
}

// readsLikeOwn judges a frame that the client did not mark.
func (f *Frame) readsLikeOwn(origin FrameOrigin) bool {
	if f.File != "" && f.File != f.Module && !InAppFile(f.File) || origin.AbsPath != "" && !InAppFile(origin.AbsPath) {
		return false
	}
	if isSystemPackage(origin.Package) {
		return false
	}
	foreign := foreignModules(origin.Platform, f.File)
	if f.Module != "" && isUnder(f.Module, foreign) {
		return false
	}
	switch platformOf(origin.Platform, f.File) {
	case "go":
		return !isGoRuntime(firstWord(f.Module, f.Function))
	case "java":
		function := withoutModule(f.Function)
		return f.Module != "" || !isUnder(function, foreign)
	case "native", "dart", "cocoa":
		return !isUnder(strings.TrimLeft(f.Function, "<&"), foreign) && firstWord(firstWord(f.File, origin.Package), f.Function) != ""
	}
	return firstWord(firstWord(f.File, f.Module), origin.AbsPath) != ""
}

// firstWord returns the first of two texts that is not empty.
func firstWord(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// isUnder reports whether a module is one of the roots, or inside of one. The parts of module names are separated by
// dots, colons, slashes or backslashes. A root that ends with one of these stands for everything that begins with it.
func isUnder(module string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rest, found := strings.CutPrefix(module, root)
		return found && (rest == "" || strings.ContainsAny(rest[:1], ".:/\\$") || strings.ContainsAny(root[len(root)-1:], ".:/\\"))
	})
}

// platformOf returns the platform by its common name; if it is not given, it is derived from the file.
func platformOf(platform, file string) string {
	switch platform {
	case "javascript", "node":
		return "javascript"
	case "android", "kotlin", "groovy", "scala":
		return "java"
	case "rust", "c", "minidump":
		return "native"
	case "objc", "swift", "apple":
		return "cocoa"
	case "dart", "flutter":
		return "dart"
	case "", "other":
	default:
		return platform
	}
	at := strings.LastIndexByte(file, '.')
	if at < 0 {
		return ""
	}
	switch file[at:] {
	case ".java", ".kt", ".scala", ".groovy":
		return "java"
	case ".py":
		return "python"
	case ".go":
		return "go"
	case ".rb":
		return "ruby"
	case ".php":
		return "php"
	case ".cs", ".fs", ".vb":
		return "csharp"
	case ".rs", ".c", ".cc", ".cpp", ".h":
		return "native"
	case ".m", ".mm", ".swift":
		return "cocoa"
	case ".ex", ".exs", ".erl":
		return "elixir"
	case ".dart":
		return "dart"
	}
	if isScript(file) {
		return "javascript"
	}
	return ""
}

// foreignModules lists the modules of a platform's runtime and of its usual libraries.
func foreignModules(platform, file string) []string {
	switch platformOf(platform, file) {
	case "java":
		return []string{
			"java", "javax", "jakarta", "jdk", "sun", "com.sun", "kotlin", "kotlinx", "scala", "groovy", "org.codehaus.groovy", "android", "androidx",
			"com.android", "dalvik", "libcore", "com.google.android", "org.springframework", "org.apache", "org.eclipse", "org.hibernate", "org.jboss",
			"org.junit", "io.netty", "io.micrometer", "io.reactivex", "reactor", "okhttp3", "okio", "retrofit2", "com.zaxxer", "com.fasterxml", "com.mysql",
			"org.postgresql", "clojure", "akka", "play.api", "io.undertow", "io.quarkus", "io.vertx", "io.grpc", "feign", "ch.qos.logback", "org.slf4j",
		}
	case "python":
		return []string{
			"abc", "argparse", "ast", "asyncio", "base64", "codecs", "collections", "concurrent", "contextlib", "copy", "csv", "ctypes", "dataclasses", "datetime",
			"decimal", "email", "enum", "functools", "hashlib", "http", "importlib", "inspect", "io", "ipaddress", "itertools", "json", "logging", "multiprocessing",
			"os", "pathlib", "pickle", "queue", "random", "re", "runpy", "sched", "selectors", "shutil", "signal", "socket", "socketserver", "sqlite3", "ssl",
			"statistics", "string", "struct", "subprocess", "tempfile", "threading", "typing", "unittest", "urllib", "uuid", "weakref", "wsgiref", "xml", "zipfile",
			"aiohttp", "alembic", "anyio", "billiard", "boto3", "botocore", "celery", "click", "django", "fastapi", "flask", "gunicorn", "httpcore", "httpx", "jinja2",
			"kombu", "numpy", "pandas", "psycopg", "psycopg2", "pydantic", "pymongo", "pytest", "redis", "requests", "rest_framework", "rq", "sqlalchemy", "starlette",
			"tornado", "urllib3", "uvicorn", "werkzeug",
		}
	case "csharp":
		return []string{
			"System", "Microsoft", "Windows", "Mono", "Interop", "Newtonsoft", "Npgsql", "MySql", "MySqlConnector", "Serilog", "NLog", "log4net", "Grpc", "Dapper", "AutoMapper",
			"MediatR", "FluentValidation", "Polly", "Amazon", "Azure", "Xunit", "NUnit", "Castle", "StackExchange", "Hangfire", "MassTransit", "UnityEngine", "UnityEditor",
		}
	case "php":
		return []string{`Symfony\`, `Illuminate\`, `Doctrine\`, `GuzzleHttp\`, `Monolog\`, `Twig\`, `Laravel\`, `Psr\`, `PHPUnit\`}
	case "elixir":
		return []string{
			"Elixir.Enum", "Elixir.GenServer", "Elixir.Task", "Elixir.Agent", "Elixir.Kernel", "Elixir.Plug", "Elixir.Phoenix", "Elixir.Ecto", "Elixir.DBConnection", "Elixir.Postgrex",
			"Enum", "GenServer", "Task", "Agent", "Kernel", "Plug", "Phoenix", "Ecto", "DBConnection", "Postgrex", "Bandit", "Oban", "gen_server", "proc_lib", "gen", "erlang", "lists",
			":gen_server", ":proc_lib", ":erlang", ":lists", "cowboy_handler", "cowboy_stream_h", ":cowboy_handler", ":cowboy_stream_h",
		}
	case "native", "cocoa":
		return []string{
			"std::", "core::", "alloc::", "backtrace::", "tokio::", "futures::", "futures_util::", "futures_core::", "hyper::", "actix_", "axum::", "tower::", "rayon::", "rayon_core::",
			"_start", "__libc_start", "__scrt_", "start_thread", "BaseThreadInitThunk", "RtlUserThreadStart", "UIApplicationMain", "NSApplicationMain", "-[UI", "-[NS", "-[CF", "CFRunLoop", "GSEventRun",
		}
	case "dart":
		return []string{"dart:", "package:flutter/", "flutter", "dart"}
	}
	return nil
}

// isSystemPackage reports whether a library or program belongs to the system.
func isSystemPackage(name string) bool {
	if name == "" {
		return false
	}
	path := strings.ReplaceAll(name, `\`, "/")
	for _, prefix := range []string{
		"/usr/lib/", "/lib/", "/lib64/", "/usr/lib64/", "/System/Library/", "/Library/Developer/", "/system/", "/apex/", "/vendor/lib", "/data/dalvik-cache/", "[vdso]", "linux-vdso", "linux-gate",
		"C:/Windows/", "C:/WINDOWS/", "c:/windows/", "System.", "Microsoft.", "mscorlib", "netstandard", "WindowsBase", "PresentationFramework", "PresentationCore", "flutter",
	} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	file := path[strings.LastIndexByte(path, '/')+1:]
	return isUnder(file, []string{
		"UIKit", "UIKitCore", "Foundation", "CoreFoundation", "CFNetwork", "GraphicsServices", "SwiftUI", "AppKit", "dyld", "libobjc", "libdispatch", "libsystem_kernel", "libsystem_pthread",
		"libsystem_c", "libsystem_platform", "libc", "libart", "libandroid_runtime", "ntdll", "kernel32", "KERNELBASE", "ucrtbase", "user32",
	})
}

// reporters are the prefixes of functions and modules that report an error: the code of SDKs, and of runtimes between
// the fault and the SDK.
func reporters() []string {
	return []string{
		"sentry::", "sentry_core::", "sentry_backtrace::", "sentry_panic::", "sentry_anyhow::", "sentry_tracing::", "sentry_log::", "std::panicking::", "core::panicking::", "std::panic::",
		"std::sys::backtrace::", "std::sys_common::backtrace::", "std::backtrace", "backtrace::", "rust_begin_unwind", "__rustc::", "rust_panic", "__rust_", "core::option::unwrap_failed",
		"core::option::expect_failed", "core::result::unwrap_failed", "core::ops::function::Fn", "alloc::boxed::Box<F,A> as core::ops::function::Fn", "alloc::boxed::Box<dyn core::ops::function::Fn",
		"io.sentry.", "sentry_sdk.", "github.com/getsentry/sentry-go", "Elixir.Sentry.", `Sentry\`, "Raven.", "-[Sentry", "+[Sentry", "SentryCrash", "sentrycrash_", "sentry__", "sentry_value_",
	}
}

// isReporter reports whether the frame belongs to the code that reports errors. It is on top of the stacks of unrelated
// errors, so it never counts.
func (f *Frame) isReporter() bool {
	function := strings.TrimLeft(f.Function, "<&")
	for _, prefix := range reporters() {
		if strings.HasPrefix(function, prefix) || strings.HasPrefix(f.Module, prefix) {
			return !strings.HasPrefix(f.Module, "io.sentry.sample")
		}
	}
	switch f.Module {
	case "sentry_sdk", "io.sentry", "Elixir.Sentry", "Sentry":
		return true
	}
	if strings.HasPrefix(f.Module, "Sentry.") && !isScript(f.File) {
		return true
	}
	path := strings.ReplaceAll(f.File, `\`, "/")
	for _, part := range []string{
		"/node_modules/@sentry/", "/node_modules/@sentry-internal/", "/@sentry/", "/sentry_sdk/", "/gems/sentry-", "/vendor/sentry/", "/getsentry/sentry-go", "package:sentry/", "package:sentry_flutter/",
		"/Sentry.framework/",
	} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return strings.HasPrefix(path, "sentry_sdk/") || strings.HasPrefix(path, "node_modules/@sentry")
}
