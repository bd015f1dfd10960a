package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"svc/domain"
)

// heldID is the prefix of the texts that replace ids that the SDK would round. The number follows the prefix.
const heldID = "svc-number:"

// check reads the messages of a request. It returns a refusal if a message is invalid by JSON-RPC. Otherwise the
// request has the messages unchanged, except that texts replace ids that the SDK would round. one is the id of a single
// message. held reports whether a text replaces any id.
func check(r *http.Request) (one json.RawMessage, held bool, refused *jsonrpc.Error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	rest := r.Body
	pass := func(body []byte) {
		r.Body, r.ContentLength = readCloser{io.MultiReader(bytes.NewReader(body), rest), rest}, -1
	}
	if pass(body); err != nil || len(body) > maxBody {
		return nil, false, nil //nolint:nilerr // the SDK reads the rest and says so
	}
	var many []json.RawMessage
	text := bytes.TrimSpace(body)
	switch {
	case domain.TooDeep(text):
		return nil, false, invalid(fmt.Sprintf("the message is nested deeper than %d levels", domain.MaxNesting))
	case !json.Valid(text):
		return nil, false, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "Parse error: the body is no JSON."}
	case text[0] != '[':
		changed, id, refused := checkMessage(text)
		if changed != nil {
			pass(changed)
		}
		return id, changed != nil, refused
	case json.Unmarshal(text, &many) != nil || len(many) == 0:
		return nil, false, invalid("the batch is empty")
	}
	for n, message := range many {
		changed, _, refused := checkMessage(message)
		if refused != nil {
			return nil, false, refused
		}
		if changed != nil {
			many[n], held = changed, true
		}
	}
	if held {
		whole, _ := json.Marshal(many) // The messages were read from JSON, so marshalling cannot fail.
		pass(whole)
	}
	return nil, held, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

func invalid(why string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid request: " + why + "."}
}

// checkMessage returns the id of a message, or the refusal of an invalid one. changed is the message with another id if
// the SDK would round the original id.
func checkMessage(text json.RawMessage) (changed, id json.RawMessage, refused *jsonrpc.Error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members == nil {
		return nil, nil, invalid("a message is an object")
	}
	var version, method string
	if json.Unmarshal(members["jsonrpc"], &version) != nil || version != "2.0" {
		return nil, nil, invalid(`jsonrpc must be "2.0"`)
	}
	id, has := members["id"]
	if has && !validID(id) {
		return nil, nil, invalid("id must be a text or a whole number")
	}
	if raw, asked := members["method"]; asked && (json.Unmarshal(raw, &method) != nil || raw[0] != '"') {
		return nil, id, invalid("method must be a text")
	}
	if raw, given := members["params"]; given && raw[0] != '{' && string(raw) != "null" {
		return nil, id, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: params must be an object."}
	}
	if !has || exact(id) {
		return nil, id, nil
	}
	members["id"], _ = json.Marshal(heldID + string(id)) // Marshalling a text cannot fail.
	changed, _ = json.Marshal(members)                   // The members were read from JSON, so marshalling cannot fail.
	return changed, id, nil
}

// validID reports whether an id is a text or a whole number.
func validID(id json.RawMessage) bool {
	switch {
	case id[0] == '"':
		return !bytes.HasPrefix(id, []byte(`"`+heldID))
	case id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		return false
	case !bytes.ContainsAny(id, ".eE"):
		return true
	}
	number, err := strconv.ParseFloat(string(id), 64)
	return err == nil && number == math.Trunc(number)
}

// exact reports whether the SDK returns an id unchanged. The SDK reads numbers as float64.
func exact(id json.RawMessage) bool {
	const whole = 1 << 53
	number, err := strconv.ParseInt(string(id), 10, 64)
	return id[0] == '"' || err == nil && number > -whole && number < whole && strconv.FormatInt(number, 10) == string(id)
}

// restore replaces the texts in the ids of an answer by the numbers.
func restore(body []byte) []byte {
	var many []json.RawMessage
	if json.Unmarshal(body, &many) != nil {
		return restoreOne(body)
	}
	for n := range many {
		many[n] = restoreOne(many[n])
	}
	whole, err := json.Marshal(many)
	if err != nil {
		return body
	}
	return whole
}

func restoreOne(body []byte) []byte {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &members) != nil || json.Unmarshal(members["id"], &text) != nil {
		return body
	}
	number, held := strings.CutPrefix(text, heldID)
	if !held {
		return body
	}
	members["id"] = json.RawMessage(number)
	if whole, err := json.Marshal(members); err == nil {
		return whole
	}
	return body
}
