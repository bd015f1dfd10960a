package chdb

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// killRetry is the pause between attempts to cancel a statement. The first attempt can come before the engine lists the
// statement, so the attempts continue until the statement ends.
const killRetry = 20 * time.Millisecond

// queryReadOnly is the class of SELECT, SHOW, DESCRIBE, EXPLAIN, EXISTS and CHECK in
// chdb_query_class.
const queryReadOnly = 0

// conn is one connection to the engine, with the session state that this package set on it. Only one goroutine at a
// time may use it.
type conn struct {
	lib      *library
	handle   unsafe.Pointer    // the result of connect, for closeConn
	ptr      unsafe.Pointer    // the connection itself, for statements
	name     string            // the log_comment by which kill finds the statement of this connection
	settings map[string]string // current settings beyond base
	database string            // current database
	base     map[string]string // settings at the start of the connection
	kill     func(name string) // cancels the statement on the connection with that name
	scratch  string            // folder for temporary files of one statement
	spoiled  bool              // the session may differ from settings and database
}

// connect opens a connection. args are the arguments of the process's first connection (the data folder and server
// settings). base are the settings that every statement starts with. If the library refuses, it prints no reason.
func connect(lib *library, args []string, name string, base map[string]string) (*conn, error) {
	list := append(slices.Clone(args), "--log_comment="+name)
	for _, k := range slices.Sorted(maps.Keys(base)) {
		list = append(list, "--"+k+"="+base[k])
	}
	argv := newCStrings(list)
	defer argv.free()
	handle := lib.connect(int32(len(list)), argv.array())
	if handle == nil {
		return nil, fmt.Errorf("connecting %s: libchdb refused the arguments", name)
	}
	return &conn{
		lib: lib, handle: handle, ptr: *(*unsafe.Pointer)(handle), name: name,
		settings: map[string]string{}, database: defaultDatabase, base: base,
	}, nil
}

func (c *conn) close() { c.lib.closeConn(c.handle) }

// execute runs a statement to its end and returns the complete output in the given format.
func (c *conn) execute(sql, format string) (string, error) {
	result := c.lib.queryN(c.ptr, stringPointer(sql), uintptr(len(sql)), stringPointer(format), uintptr(len(format)))
	runtime.KeepAlive(sql)
	runtime.KeepAlive(format)
	defer c.lib.destroyResult(result)
	if text := c.lib.resultError(result); text != nil {
		return "", parseException(goString(text))
	}
	return string(c.bytes(result)), nil
}

// bytes returns the data of a result. It is valid until the result is destroyed.
func (c *conn) bytes(result unsafe.Pointer) []byte {
	n := c.lib.resultLength(result)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(c.lib.resultBuffer(result)), n)
}

// prepare sets the session to the database and exactly the settings of a statement. Only the difference from the
// previous statement costs a call.
func (c *conn) prepare(database string, settings map[string]string) error {
	if database != c.database {
		if _, err := c.execute("USE "+quoteIdentifier(database), "Null"); err != nil {
			return err
		}
		c.database = database
	}
	changes := c.difference(settings)
	if len(changes) == 0 {
		return nil
	}
	if _, err := c.execute("SET "+strings.Join(changes, ", "), "Null"); err != nil {
		c.spoiled = true
		return err
	}
	c.settings = settings
	return nil
}

// difference lists the changes that SET must make to the current settings.
func (c *conn) difference(settings map[string]string) []string {
	var changes []string
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		if old, ok := c.settings[k]; !ok || old != settings[k] {
			changes = append(changes, k+" = "+quoteString(settings[k]))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(c.settings)) {
		if _, ok := settings[k]; ok {
			continue
		}
		if start, ok := c.base[k]; ok {
			changes = append(changes, k+" = "+quoteString(start))
		} else {
			changes = append(changes, k+" = DEFAULT")
		}
	}
	return changes
}

// watch cancels the statement of this connection when ctx ends. The caller must call stop after the statement ended.
// stop returns when the cancelling has ended, so that a late cancellation cannot hit the next statement.
func (c *conn) watch(ctx context.Context) (stop func()) {
	ended, quiet := make(chan struct{}), make(chan struct{})
	unregister := context.AfterFunc(ctx, func() {
		defer close(quiet)
		retry := time.NewTicker(killRetry)
		defer retry.Stop()
		for {
			c.kill(c.name)
			select {
			case <-ended:
				return
			case <-retry.C:
			}
		}
	})
	return func() {
		close(ended)
		if !unregister() {
			<-quiet
		}
	}
}

// queryAnalysis mirrors the C struct chdb_query_analysis_v1.
type queryAnalysis struct {
	structSize     uint32
	statementCount uint32
	flags          uint32
	queryClass     uint32
}

// admit refuses text with several statements, as ClickHouse does over HTTP. It also reports whether the statement
// leaves no trace in its session. Text that does not parse passes: the engine returns the error.
func (c *conn) admit(sql string) (traceless bool, err error) {
	analysis := &queryAnalysis{structSize: uint32(unsafe.Sizeof(queryAnalysis{}))}
	c.lib.classify(c.ptr, stringPointer(sql), uintptr(len(sql)), nil, 0, unsafe.Pointer(analysis))
	runtime.KeepAlive(sql)
	if analysis.statementCount > 1 {
		return false, newException(codeSyntaxError, "SYNTAX_ERROR", "a request holds one statement, not %d", analysis.statementCount)
	}
	return analysis.statementCount == 1 && analysis.queryClass == queryReadOnly, nil
}

// query runs a statement and passes its output to write, one block at a time. The bytes are valid only during the call
// of write. An error of write ends the statement.
func (c *conn) query(ctx context.Context, s *statement, write func([]byte) error) error {
	traceless, err := c.admit(s.text)
	if err != nil {
		return err
	}
	// The next statement must not see any change that this one makes to its session. The engine also retains a failed
	// statement until the connection is used again.
	c.spoiled = true
	defer c.watch(ctx)()
	switch selects := traceless && selectStatement.MatchString(s.text); {
	case selects && framed(s.format):
		err = c.byFile(s, write)
	case selects:
		err = c.stream(s, write)
	default:
		err = c.whole(s, write)
	}
	c.spoiled = err != nil || !traceless
	return err
}

// whole runs a statement and passes its output to write in one piece.
func (c *conn) whole(s *statement, write func([]byte) error) error {
	result := c.call(c.lib.queryParams, s)
	defer c.lib.destroyResult(result)
	_, err := c.pass(result, write)
	return err
}

// call starts a statement with its parameters and returns its result or stream.
func (c *conn) call(function callWithParameters, s *statement) unsafe.Pointer {
	p := newParameters(s.parameters)
	defer p.free()
	defer runtime.KeepAlive(s)
	return function(c.ptr, stringPointer(s.text), uintptr(len(s.text)), stringPointer(s.format), uintptr(len(s.format)),
		p.names.array(), p.nameLens, p.values.array(), p.valueLens, p.count)
}

// stream runs a SELECT and passes its output to write as the engine produces it.
func (c *conn) stream(s *statement, write func([]byte) error) error {
	stream := c.call(c.lib.streamQueryParams, s)
	defer c.lib.destroyResult(stream)
	if text := c.lib.resultError(stream); text != nil {
		return parseException(goString(text))
	}
	for {
		more, err := c.fetch(stream, write)
		if err != nil {
			c.lib.streamCancel(c.ptr, stream)
			return err
		}
		if !more {
			return nil
		}
	}
}

// fetch passes the next piece of output to write. It returns false at the end.
func (c *conn) fetch(stream unsafe.Pointer, write func([]byte) error) (more bool, err error) {
	piece := c.lib.streamFetch(c.ptr, stream)
	defer c.lib.destroyResult(piece)
	return c.pass(piece, write)
}

// pass passes the data of a result to write. It returns false if the result is empty.
func (c *conn) pass(result unsafe.Pointer, write func([]byte) error) (some bool, err error) {
	if text := c.lib.resultError(result); text != nil {
		return false, parseException(goString(text))
	}
	data := c.bytes(result)
	if len(data) == 0 {
		return false, nil
	}
	return true, write(data)
}

// parameters holds the bound values of a statement in the form C expects.
type parameters struct {
	names, values       *cStrings
	nameLens, valueLens unsafe.Pointer
	count               uintptr
}

// newParameters copies list. The caller calls free after the C call.
func newParameters(list map[string]string) *parameters {
	names := slices.Sorted(maps.Keys(list))
	values := make([]string, len(names))
	nameLens, valueLens := make([]uintptr, len(names)+1), make([]uintptr, len(names)+1)
	for i, name := range names {
		values[i] = list[name]
		nameLens[i], valueLens[i] = uintptr(len(name)), uintptr(len(values[i]))
	}
	return &parameters{
		names: newCStrings(names), values: newCStrings(values),
		nameLens: unsafe.Pointer(&nameLens[0]), valueLens: unsafe.Pointer(&valueLens[0]),
		count: uintptr(len(names)),
	}
}

func (p *parameters) free() {
	p.names.free()
	p.values.free()
	runtime.KeepAlive(p)
}

// quoteString writes s as a string literal of ClickHouse.
func quoteString(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// quoteIdentifier writes s as an identifier of ClickHouse.
func quoteIdentifier(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}
