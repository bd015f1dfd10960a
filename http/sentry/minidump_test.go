package sentry_test

import (
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"svc/domain/occurrence"
	"svc/http/sentry"
)

// dumpOf returns a minidump with one thread, which crashed in the first of two modules.
func dumpOf(platform uint32, cpu uint16, code, flags uint32, address uint64, params ...uint64) []byte {
	var out []byte
	u32 := func(values ...uint32) {
		for _, value := range values {
			out = binary.LittleEndian.AppendUint32(out, value)
		}
	}
	u64 := func(values ...uint64) {
		for _, value := range values {
			out = binary.LittleEndian.AppendUint64(out, value)
		}
	}
	name := func(text string) uint32 {
		at := uint32(len(out))
		units := utf16.Encode([]rune(text))
		u32(uint32(2 * len(units)))
		for _, unit := range units {
			out = binary.LittleEndian.AppendUint16(out, unit)
		}
		return at
	}
	const header, entries, start = 32, 4, uint64(0x7fff0000)
	out = make([]byte, header+12*entries)
	type stream struct{ kind, size, at uint32 }
	var streams []stream
	add := func(kind uint32, write func()) {
		at := uint32(len(out))
		write()
		streams = append(streams, stream{kind, uint32(len(out)) - at, at})
	}
	app, lib := name("/opt/shop/shop"), name("/lib/libc.so.6")
	stack := uint32(len(out))
	u64(1, 0x500010, 7, 0x400020) // Two of the words are addresses of code.
	context := uint32(len(out))
	registers := make([]byte, 320)
	binary.LittleEndian.PutUint64(registers[152:], start)
	binary.LittleEndian.PutUint64(registers[248:], 0x400010)
	out = append(out, registers...)
	add(3, func() { u32(1, 77, 0, 0, 0); u64(0, start); u32(32, stack, 320, context) })
	add(4, func() {
		u32(2)
		for _, module := range []struct {
			base uint64
			name uint32
		}{{0x400000, app}, {0x500000, lib}} {
			u64(module.base)
			u32(0x1000, 0, 0, module.name)
			out = append(out, make([]byte, 108-24)...)
		}
	})
	add(6, func() {
		u32(77, 0, code, flags)
		u64(0, address)
		u32(uint32(len(params)), 0)
		for i := range 15 {
			if i < len(params) {
				u64(params[i])
			} else {
				u64(0)
			}
		}
		u32(320, context)
	})
	add(7, func() {
		out = binary.LittleEndian.AppendUint16(out, cpu)
		out = append(out, make([]byte, 18)...)
		u32(platform)
	})
	copy(out, "MDMP")
	binary.LittleEndian.PutUint32(out[4:], 0xa793)
	binary.LittleEndian.PutUint32(out[8:], entries)
	binary.LittleEndian.PutUint32(out[12:], header)
	for i, one := range streams {
		at := header + 12*i
		binary.LittleEndian.PutUint32(out[at:], one.kind)
		binary.LittleEndian.PutUint32(out[at+4:], one.size)
		binary.LittleEndian.PutUint32(out[at+8:], one.at)
	}
	return out
}

// TestMinidumps reads the reason and the place of a crash, and the modules in memory.
func TestMinidumps(t *testing.T) {
	t.Parallel()
	got, err := sentry.ParseMinidump(dumpOf(0x8201, 9, 11, 1, 0))
	want := &sentry.Minidump{
		System: "Linux", CPU: "x86_64", Crashed: true, Code: 11, Flags: 1, Calls: []uint64{0x400010, 0x500010, 0x400020},
		Modules: []sentry.DumpModule{{File: "/opt/shop/shop", Base: 0x400000, Size: 0x1000}, {File: "/lib/libc.so.6", Base: 0x500000, Size: 0x1000}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	for name, tc := range map[string]struct {
		content []byte
		title   string
	}{
		"C3 Linux, a null pointer":  {dumpOf(0x8201, 9, 11, 1, 0), "SIGSEGV: Native crash: SEGV_MAPERR at 0x0"},
		"Linux, an abort":           {dumpOf(0x8201, 9, 6, 0, 0), "SIGABRT: Native crash"},
		"Windows, a read":           {dumpOf(2, 9, 0xC0000005, 0, 0x400010, 0, 0x10), "EXCEPTION_ACCESS_VIOLATION: Native crash: read of 0x10"},
		"Windows, a write":          {dumpOf(2, 9, 0xC0000005, 0, 0x400010, 1, 0x10), "EXCEPTION_ACCESS_VIOLATION: Native crash: write to 0x10"},
		"Windows, without its kind": {dumpOf(2, 9, 0xC0000005, 0, 0x400010), "EXCEPTION_ACCESS_VIOLATION: Native crash: at 0x400010"},
		"macOS":                     {dumpOf(0x8101, 9, 1, 0, 8), "EXC_BAD_ACCESS: Native crash: at 0x8"},
		"an unknown code":           {dumpOf(2, 9, 0x1234, 0, 0), "Exception 0x00001234: Native crash"},
	} {
		dump, err := sentry.ParseMinidump(tc.content)
		if err != nil {
			t.Fatal(name, err)
		}
		event := parse(t, `{"release":"shop@1.2.3"}`)
		event.Crash(dump)
		o := event.Occurrence()
		o.Normalise()
		if title := occurrence.IssueTitle(o.Name, o.Message); title != tc.title || o.Culprit != "shop+0x10 (/opt/shop/shop)" || o.Level != occurrence.LevelFatal || o.Handled || len(o.Frames) != 3 || o.Release != "shop@1.2.3" {
			t.Errorf("%s: %q, %q, %+v", name, title, o.Culprit, o.Handled)
		}
		if o.Frames[1].Function != "libc.so.6+0x10" || !o.Frames[0].InApp || o.Frames[2].InApp || !strings.Contains(string(o.Extra), "shop 0x400000-0x401000") {
			t.Errorf("%s: %+v, %s", name, o.Frames, o.Extra)
		}
	}
	for _, content := range []string{"", "MDMP", "PK\x03\x04" + strings.Repeat("x", 40), "MDMP" + strings.Repeat("\xff", 40)} {
		if _, err := sentry.ParseMinidump([]byte(content)); !strings.HasPrefix(text(err), "invalid minidump: ") {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// TestFieldsOfCrashes covers the forms in which clients send the event of a minidump.
func TestFieldsOfCrashes(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]map[string]string{
		"JSON":        {"sentry": `{"release":"r","tags":{"a":"b"}}`, "prod": "Electron"},
		"pieces":      {"sentry__1": `{"release":"r",`, "sentry__2": `"tags":{"a":"b"}}`, "prod": "Electron"},
		"brackets":    {"sentry[release]": "r", "sentry[tags][a]": "b", "prod": "Electron"},
		"underscores": {"sentry___release": "r", "sentry___tags___a": "b", "prod": "Electron"},
	} {
		event := parse(t, string(sentry.CrashEvent(fields)))
		if event.Release != "r" || event.Tags["a"] != "b" || string(event.Extra) != `{"prod":"Electron"}` {
			t.Errorf("%s: %+v", name, event)
		}
	}
	if payload := sentry.CrashEvent(map[string]string{"sentry": "no JSON", "sentry[": "x", "sentry___": "y"}); parse(t, string(payload)) == nil {
		t.Errorf("got %s", payload)
	}
}

// FuzzParseMinidump checks that reading any input ends, and that the retained data is bounded.
func FuzzParseMinidump(f *testing.F) {
	f.Add(dumpOf(0x8201, 9, 11, 1, 0))
	f.Add(dumpOf(2, 0, 0xC0000005, 0, 1, 8, 2))
	f.Fuzz(func(t *testing.T, content []byte) {
		dump, err := sentry.ParseMinidump(content)
		if err != nil {
			if text(err) == "" {
				t.Errorf("no reason: %v", err)
			}
			return
		}
		if name, _ := dump.Reason(); name == "" || len(dump.Calls) > 50 || len(dump.Modules) > 4096 || len(dump.Params) > 15 {
			t.Errorf("%q, %d calls, %d modules", name, len(dump.Calls), len(dump.Modules))
		}
	})
}
