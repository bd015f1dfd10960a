package chdb

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library is the part of the C interface of libchdb that this package uses. Every field is the C function of the same
// name. Text is passed as pointer and length. Returned text is a C string that lives as long as its result or stream.
type library struct {
	setSignalHandlersEnabled func(enabled int32)
	connect                  func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	closeConn                func(conn unsafe.Pointer)

	queryN            func(conn, sql unsafe.Pointer, sqlLen uintptr, format unsafe.Pointer, formatLen uintptr) unsafe.Pointer
	queryParams       callWithParameters
	streamQueryParams callWithParameters
	streamFetch       func(conn, stream unsafe.Pointer) unsafe.Pointer
	streamCancel      func(conn, stream unsafe.Pointer)

	resultBuffer  func(result unsafe.Pointer) unsafe.Pointer
	resultLength  func(result unsafe.Pointer) uintptr
	resultError   func(result unsafe.Pointer) unsafe.Pointer
	destroyResult func(result unsafe.Pointer)

	insertParams  callWithParameters
	insertAppend  func(stream, data unsafe.Pointer, length uintptr) int32
	insertDone    func(stream unsafe.Pointer) unsafe.Pointer
	insertError   func(stream unsafe.Pointer) unsafe.Pointer
	insertCancel  func(stream unsafe.Pointer)
	insertDestroy func(stream unsafe.Pointer)

	classify func(conn, sql unsafe.Pointer, sqlLen uintptr, target unsafe.Pointer, targetLen uintptr, out unsafe.Pointer) int32
}

// callWithParameters is the type of the functions that start a statement with bound values.
type callWithParameters func(conn, sql unsafe.Pointer, sqlLen uintptr, format unsafe.Pointer, formatLen uintptr,
	names, nameLens, values, valueLens unsafe.Pointer, count uintptr) unsafe.Pointer

// loadLibrary opens the shared library at path and binds its functions. A library stays loaded until the process ends;
// loading the same path again returns the same one.
func loadLibrary(path string) (*library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("loading libchdb from %s: %w", path, err)
	}
	lib := &library{}
	for _, symbol := range []struct {
		function any
		name     string
	}{
		{&lib.setSignalHandlersEnabled, "chdb_set_signal_handlers_enabled"},
		{&lib.connect, "chdb_connect"},
		{&lib.closeConn, "chdb_close_conn"},
		{&lib.queryN, "chdb_query_n"},
		{&lib.queryParams, "chdb_query_with_params_n"},
		{&lib.streamQueryParams, "chdb_stream_query_with_params_n"},
		{&lib.streamFetch, "chdb_stream_fetch_result"},
		{&lib.streamCancel, "chdb_stream_cancel_query"},
		{&lib.resultBuffer, "chdb_result_buffer"},
		{&lib.resultLength, "chdb_result_length"},
		{&lib.resultError, "chdb_result_error"},
		{&lib.destroyResult, "chdb_destroy_query_result"},
		{&lib.insertParams, "chdb_stream_insert_with_params_n"},
		{&lib.insertAppend, "chdb_stream_append"},
		{&lib.insertDone, "chdb_stream_done"},
		{&lib.insertError, "chdb_stream_insert_error"},
		{&lib.insertCancel, "chdb_stream_cancel_insert"},
		{&lib.insertDestroy, "chdb_destroy_insert_stream"},
		{&lib.classify, "chdb_classify_query_n"},
	} {
		address, err := purego.Dlsym(handle, symbol.name)
		if err != nil {
			return nil, fmt.Errorf("binding libchdb %s at %s: %w", Version, path, err)
		}
		purego.RegisterFunc(symbol.function, address)
	}
	return lib, nil
}

// stringPointer returns the bytes of s for a call into C. The caller must keep s alive until the call returns.
func stringPointer(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

// goString copies a C string that ends with a zero byte. A nil pointer yields the empty string.
func goString(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// cStrings is an argument vector in the form that C expects: an array of pointers to strings that end with a zero byte.
// The memory belongs to Go, so it must stay alive and pinned while C reads it.
type cStrings struct {
	pointers []unsafe.Pointer
	pinner   runtime.Pinner
}

// newCStrings copies list. The caller calls free after the C call.
func newCStrings(list []string) *cStrings {
	c := &cStrings{pointers: make([]unsafe.Pointer, 0, len(list)+1)}
	for _, s := range list {
		b := append([]byte(s), 0)
		c.pinner.Pin(&b[0])
		c.pointers = append(c.pointers, unsafe.Pointer(&b[0]))
	}
	c.pointers = append(c.pointers, nil)
	c.pinner.Pin(&c.pointers[0])
	return c
}

func (c *cStrings) array() unsafe.Pointer { return unsafe.Pointer(&c.pointers[0]) }

func (c *cStrings) free() { c.pinner.Unpin() }
