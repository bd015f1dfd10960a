package chdb

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// defaultDatabase is the current database of a fresh connection.
const defaultDatabase = "default"

// maxStatementText limits the text of a statement that is read from a body, in bytes. The engine refuses far shorter
// text by default (max_query_size), unless the data of an INSERT … VALUES follows.
const maxStatementText = 64 << 20

// statement is the statement of a request.
type statement struct {
	text       string            // without FORMAT when rows is set
	format     string            // of the output, or of the rows to insert
	rows       bool              // the body of the request holds rows to insert
	database   string            // current database of the statement
	settings   map[string]string // settings of only this statement
	parameters map[string]string // values for {name:Type}, escaped as in TSV
}

// selectStatement matches the statements with a result that the library can stream. Other statements with rows (SHOW,
// DESCRIBE, EXPLAIN …) return only a few.
var selectStatement = regexp.MustCompile(`(?is)^(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(?:SELECT|WITH|FROM)\b`)

// insertWithRows matches an INSERT followed by rows in a format, as clickhouse-go sends it for a batch. The groups are
// the statement without the format, and the format.
var insertWithRows = regexp.MustCompile(`(?is)^((?:\s|--[^\n]*\n|/\*.*?\*/)*INSERT\s+INTO\s.*?)\s+FORMAT\s+(\w+)\s*;?\s*$`)

// settingName matches names of settings. It prevents SQL in a name.
var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// newStatement reads the statement of a request. It consumes the body unless the body holds rows.
func newStatement(r *http.Request) (*statement, error) {
	if err := refuseUnsupported(r); err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, newException(codeBadArguments, "BAD_ARGUMENTS", "the request's arguments are malformed: %s", err)
	}
	s := &statement{
		format: "TabSeparated", database: defaultDatabase,
		settings: map[string]string{}, parameters: map[string]string{},
	}
	for name, list := range values {
		if err := s.argument(name, list[len(list)-1]); err != nil {
			return nil, err
		}
	}
	if m := insertWithRows.FindStringSubmatch(s.text); m != nil {
		s.text, s.format, s.rows = m[1], m[2], true
		return s, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxStatementText+1))
	if err != nil {
		return nil, fmt.Errorf("reading the statement: %w", err)
	}
	if len(body) > maxStatementText {
		return nil, newException(codeBadArguments, "BAD_ARGUMENTS", "the statement is longer than %d bytes", maxStatementText)
	}
	s.text = strings.TrimPrefix(s.text+"\n"+string(body), "\n")
	return s, nil
}

// purpose returns forReading if the statement takes a read slot. A SELECT with the setting priority = 1 does not,
// because writes wait for it.
func (s *statement) purpose() purpose {
	if s.rows || s.settings["priority"] == "1" || !selectStatement.MatchString(s.text) {
		return forWriting
	}
	return forReading
}

// insertStatement matches an INSERT of any kind.
var insertStatement = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*INSERT\b`)

// inserts reports whether the statement adds rows.
func (s *statement) inserts() bool { return s.rows || insertStatement.MatchString(s.text) }

// refuseUnsupported rejects features that this server lacks, if ignoring them would change the meaning of the request.
func refuseUnsupported(r *http.Request) error {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return newException(codeNotImplemented, "NOT_IMPLEMENTED", "compression %q is not supported in memory; switch the client's compression off", e)
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return newException(codeNotImplemented, "NOT_IMPLEMENTED", "external tables are not supported by the embedded engine")
	}
	return nil
}

// argument applies one argument of the request's URL.
func (s *statement) argument(name, value string) error {
	switch name {
	case "query":
		s.text = value
	case "database":
		if value != "" {
			s.database = value
		}
	case "default_format":
		s.format = value
	case "compress", "decompress":
		if value != "0" && value != "false" {
			return newException(codeNotImplemented, "NOT_IMPLEMENTED", "compression is not supported in memory; switch the client's compression off")
		}
	case "session_id", "role":
		return newException(codeNotImplemented, "NOT_IMPLEMENTED", "%s is not supported by the embedded engine", name)
	case "client_protocol_version", "query_id", "user", "password", "quota_key", "stacktrace",
		"session_timeout", "session_check", "close_session", "buffer_size", "wait_end_of_query":
		// These select a user, a session or response buffers, of which only one exists here, or name the statement for
		// tools that are not connected.
	case "log_comment":
		// The connection itself uses this setting to find the statement that it cancels.
	default:
		if parameter, ok := strings.CutPrefix(name, "param_"); ok {
			s.parameters[parameter] = value
			return nil
		}
		if !settingName.MatchString(name) {
			return newException(codeBadArguments, "BAD_ARGUMENTS", "%q is not the name of a setting", name)
		}
		s.settings[name] = value
	}
	return nil
}
