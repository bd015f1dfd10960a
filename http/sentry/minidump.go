package sentry

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// Minidump contains the data from the memory image of a crashed native program. Microsoft, Breakpad and Crashpad use
// this format.
type Minidump struct {
	// System is the name of the operating system, and CPU the name of the processor. They are empty if unknown.
	System, CPU string
	// Crashed is false if the dump has no exception. Code, Flags, Address and Params describe the exception.
	Crashed     bool
	Code, Flags uint32
	Address     uint64
	Params      []uint64
	// Calls are code addresses of the thread that crashed, the nearest call first.
	Calls []uint64
	// Modules are the programs and libraries in memory.
	Modules []DumpModule
}

// DumpModule is a program or library in memory.
type DumpModule struct {
	File       string
	Base, Size uint64
}

// These bounds limit the data that is read from a minidump.
const (
	maxDumpStreams = 1 << 10
	maxDumpModules = 4 << 10
	maxDumpThreads = 16 << 10
	maxDumpCalls   = 50
	maxDumpName    = 1 << 10
	maxDumpScan    = 64 << 10
)

// These are the kinds of streams.
const (
	threadStream    = 3
	moduleStream    = 4
	exceptionStream = 6
	systemStream    = 7
)

// dump reads little-endian numbers of a minidump. Bytes outside the dump read as zero.
type dump []byte

func (d dump) part(at, size uint64) dump {
	if at > uint64(len(d)) || size > uint64(len(d))-at {
		return nil
	}
	return d[at : at+size]
}

func (d dump) u16(at uint64) uint16 {
	if part := d.part(at, 2); part != nil {
		return binary.LittleEndian.Uint16(part)
	}
	return 0
}

func (d dump) u32(at uint64) uint32 {
	if part := d.part(at, 4); part != nil {
		return binary.LittleEndian.Uint32(part)
	}
	return 0
}

func (d dump) u64(at uint64) uint64 {
	if part := d.part(at, 8); part != nil {
		return binary.LittleEndian.Uint64(part)
	}
	return 0
}

// located returns the bytes that the size and the offset at a place describe.
func (d dump) located(from dump, at uint64) dump {
	return d.part(uint64(from.u32(at+4)), uint64(from.u32(at)))
}

// text reads a text in UTF-16 that is preceded by its length.
func (d dump) text(at uint64) string {
	words := d.part(at+4, min(uint64(d.u32(at)), maxDumpName)&^1)
	units := make([]uint16, 0, len(words)/2)
	for i := uint64(0); i < uint64(len(words)); i += 2 {
		units = append(units, words.u16(i))
	}
	return strings.TrimRight(string(utf16.Decode(units)), "\x00")
}

// IsMinidump reports whether bytes begin with the signature of a minidump.
func IsMinidump(content []byte) bool {
	return strings.HasPrefix(string(content[:min(len(content), 4)]), "MDMP")
}

// ParseMinidump reads a minidump. It omits parts that are missing or broken. It fails with *Malformed if the bytes are
// not a minidump.
func ParseMinidump(content []byte) (*Minidump, error) {
	const headerSize, entrySize = 32, 12
	d := dump(content)
	if !IsMinidump(content) || len(content) < headerSize {
		return nil, malformed("invalid minidump: it does not begin with MDMP")
	}
	count, directory := d.u32(8), uint64(d.u32(12))
	if count > maxDumpStreams || d.part(directory, uint64(count)*entrySize) == nil {
		return nil, malformed("invalid minidump: its directory of %d streams lies outside of it", count)
	}
	streams := map[uint32]dump{}
	for i := range uint64(count) {
		entry := d.part(directory+i*entrySize, entrySize)
		if kind := entry.u32(0); streams[kind] == nil {
			streams[kind] = d.located(entry, 4)
		}
	}
	out := &Minidump{}
	out.system(streams[systemStream])
	out.modules(d, streams[moduleStream])
	out.exception(d, streams[exceptionStream], streams[threadStream])
	return out, nil
}

// system reads the operating system and the processor.
func (m *Minidump) system(s dump) {
	if s == nil {
		return
	}
	m.CPU = map[uint16]string{0: "x86", 5: "arm", 9: "x86_64", 12: "arm64", 0x8003: "arm64"}[s.u16(0)]
	m.System = map[uint32]string{
		1: "Windows", 2: "Windows", 3: "Windows", 0x8000: "Unix", 0x8101: "macOS", 0x8102: "iOS", 0x8201: "Linux", 0x8202: "Solaris", 0x8203: "Android", 0x8204: "PlayStation 3", 0x8205: "Native Client", 0x8206: "Fuchsia",
	}[s.u32(20)]
}

// modules reads the list of programs and libraries.
func (m *Minidump) modules(d, s dump) {
	const entry = 108
	count := uint64(s.u32(0))
	if count > maxDumpModules {
		return
	}
	at := uint64(4)
	if uint64(len(s)) == 8+count*entry { // Some writers align the list.
		at = 8
	}
	for ; count > 0; count, at = count-1, at+entry {
		one := s.part(at, entry)
		if one == nil {
			return
		}
		m.Modules = append(m.Modules, DumpModule{File: d.text(uint64(one.u32(20))), Base: one.u64(0), Size: uint64(one.u32(8))})
	}
}

// exception reads the reason of the crash and the calls of the thread that crashed.
func (m *Minidump) exception(d, s, threads dump) {
	if s == nil {
		return
	}
	m.Crashed, m.Code, m.Flags, m.Address = true, s.u32(8), s.u32(12), s.u64(24)
	for i := range min(uint64(s.u32(32)), 15) {
		m.Params = append(m.Params, s.u64(40+8*i))
	}
	context := d.located(s, 160)
	var start uint64
	var stack dump
	const entry = 48
	for i := range min(uint64(threads.u32(0)), maxDumpThreads) {
		at := uint64(4)
		if uint64(len(threads)) == 8+uint64(threads.u32(0))*entry {
			at = 8
		}
		one := threads.part(at+i*entry, entry)
		if one.u32(0) == s.u32(0) && one != nil {
			start, stack = one.u64(24), d.located(one, 32)
			if context == nil {
				context = d.located(one, 40)
			}
			break
		}
	}
	m.walk(context, start, stack)
}

// walk finds the calls of a thread: the address where it stopped, then every address on its stack that lies in a
// module. Without symbols, no better result is possible. An address of an earlier call may be among them.
func (m *Minidump) walk(context dump, start uint64, stack dump) {
	var pc, sp, size uint64
	switch m.CPU {
	case "x86_64":
		pc, sp, size = context.u64(248), context.u64(152), 8
	case "arm64":
		pc, sp, size = context.u64(264), context.u64(256), 8
	case "x86":
		pc, sp, size = uint64(context.u32(184)), uint64(context.u32(196)), 4
	case "arm":
		pc, sp, size = uint64(context.u32(64)), uint64(context.u32(56)), 4
	}
	if pc == 0 && context == nil {
		pc = m.Address
	}
	if m.Crashed {
		m.Calls = append(m.Calls, pc)
	}
	if size == 0 || sp < start {
		return
	}
	for at := sp - start; at < uint64(len(stack)) && at < sp-start+maxDumpScan && len(m.Calls) < maxDumpCalls; at += size {
		address := stack.u64(at)
		if size == 4 {
			address = uint64(stack.u32(at))
		}
		if m.module(address) != nil && !slices.Contains(m.Calls, address) {
			m.Calls = append(m.Calls, address)
		}
	}
}

// module returns the module that contains an address, or nil if no module does.
func (m *Minidump) module(address uint64) *DumpModule {
	for i := range m.Modules {
		if one := &m.Modules[i]; address >= one.Base && address-one.Base < one.Size {
			return one
		}
	}
	return nil
}

// Reason returns the name of the exception in the terms of the operating system, and the known details.
func (m *Minidump) Reason() (name, detail string) {
	if !m.Crashed {
		return "Minidump", "The program did not crash when it was written"
	}
	var names map[uint32]string
	switch m.System {
	case "Windows":
		names = windowsExceptions()
		if m.Code == 0xC0000005 && len(m.Params) > 1 {
			detail = map[uint64]string{0: "read of ", 1: "write to ", 8: "execution of "}[m.Params[0]] + fmt.Sprintf("%#x", m.Params[1])
		}
	case "macOS", "iOS":
		names = map[uint32]string{1: "EXC_BAD_ACCESS", 2: "EXC_BAD_INSTRUCTION", 3: "EXC_ARITHMETIC", 4: "EXC_EMULATION", 5: "EXC_SOFTWARE", 6: "EXC_BREAKPOINT", 10: "EXC_CRASH", 11: "EXC_RESOURCE", 12: "EXC_GUARD"}
	default:
		names = map[uint32]string{
			1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 15: "SIGTERM", 16: "SIGSTKFLT",
			24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS", 0xFFFFFFFF: "DUMP_REQUESTED",
		}
		detail = map[uint64]string{11<<32 | 1: "SEGV_MAPERR", 11<<32 | 2: "SEGV_ACCERR", 8<<32 | 1: "FPE_INTDIV", 8<<32 | 2: "FPE_INTOVF", 4<<32 | 1: "ILL_ILLOPC", 7<<32 | 1: "BUS_ADRALN", 7<<32 | 2: "BUS_ADRERR"}[uint64(m.Code)<<32|uint64(m.Flags)]
	}
	if detail == "" && m.Address != 0 {
		detail = fmt.Sprintf("at %#x", m.Address)
	} else if m.System != "Windows" && detail != "" {
		detail = fmt.Sprintf("%s at %#x", detail, m.Address)
	}
	if name = names[m.Code]; name == "" {
		name = fmt.Sprintf("Exception %#08x", m.Code)
	}
	return name, detail
}

// windowsExceptions are the names of Windows exceptions.
func windowsExceptions() map[uint32]string {
	return map[uint32]string{
		0x80000001: "EXCEPTION_GUARD_PAGE", 0x80000002: "EXCEPTION_DATATYPE_MISALIGNMENT", 0x80000003: "EXCEPTION_BREAKPOINT", 0x80000004: "EXCEPTION_SINGLE_STEP", 0xC0000005: "EXCEPTION_ACCESS_VIOLATION",
		0xC0000006: "EXCEPTION_IN_PAGE_ERROR", 0xC0000008: "EXCEPTION_INVALID_HANDLE", 0xC000001D: "EXCEPTION_ILLEGAL_INSTRUCTION", 0xC0000025: "EXCEPTION_NONCONTINUABLE_EXCEPTION", 0xC0000026: "EXCEPTION_INVALID_DISPOSITION",
		0xC000008C: "EXCEPTION_ARRAY_BOUNDS_EXCEEDED", 0xC000008D: "EXCEPTION_FLT_DENORMAL_OPERAND", 0xC000008E: "EXCEPTION_FLT_DIVIDE_BY_ZERO", 0xC0000090: "EXCEPTION_FLT_INVALID_OPERATION", 0xC0000091: "EXCEPTION_FLT_OVERFLOW",
		0xC0000094: "EXCEPTION_INT_DIVIDE_BY_ZERO", 0xC0000095: "EXCEPTION_INT_OVERFLOW", 0xC0000096: "EXCEPTION_PRIV_INSTRUCTION", 0xC00000FD: "EXCEPTION_STACK_OVERFLOW", 0xC0000374: "STATUS_HEAP_CORRUPTION",
		0xC0000409: "STATUS_STACK_BUFFER_OVERRUN", 0xE06D7363: "C++ exception", 0xE0434352: "CLR exception", 0x0517A7ED: "Simulated exception",
	}
}
