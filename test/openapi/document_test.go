// Package openapi reads the document of the API with programs of others: a validator of JSON Schema 2020-12 and a generator
// of clients.
package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	documentFile = "../../http/api/testdata/openapi.golden.json"
	answerFiles  = "../../http/api/apitest/testdata/*.golden"
	problemType  = "application/problem+json"
	jsonType     = "application/json"
)

// loaded is the document with a compiler of its schemas.
type loaded struct {
	root     map[string]any
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

func load(t *testing.T) *loaded {
	t.Helper()
	text, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	exact(root)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", root); err != nil {
		t.Fatal(err)
	}
	return &loaded{root.(map[string]any), compiler, map[string]*jsonschema.Schema{}}
}

// exact forbids members that an object of the document does not name, so that golden answers hold no others.
func exact(value any) {
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			exact(one)
		}
	case map[string]any:
		if _, members := value["properties"].(map[string]any); members && value["type"] == "object" && value["additionalProperties"] == nil {
			value["additionalProperties"] = false
		}
		for _, one := range value {
			exact(one)
		}
	}
}

// valid compares a JSON text with the schema at a path of the document.
func (l *loaded) valid(text string, path ...string) error {
	pointer := "openapi.json#"
	at := any(l.root)
	for _, part := range path {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D").Replace(part)
		object, _ := at.(map[string]any)
		if at = object[part]; at == nil {
			return fmt.Errorf("the document has nothing at %s", pointer)
		}
	}
	schema := l.compiled[pointer]
	if schema == nil {
		var err error
		if schema, err = l.compiler.Compile(pointer); err != nil {
			return err
		}
		l.compiled[pointer] = schema
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return schema.Validate(value)
}

// exchange is a request and its answer.
type exchange struct {
	method, path, body string
	status             int
	media, answer      string
}

// placeholders are words of golden files for values that differ from run to run.
var placeholders = strings.NewReplacer(
	`"<time>"`, `"2026-11-20T12:00:00.000Z"`, `"<date>"`, `"2026-11-20"`, `: <bytes>`, `: 1`, `"<link>"`, `"https://svc.example/exports/1"`,
)

// read returns the exchange of a golden file.
func read(t *testing.T, file string) exchange {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	asked, answered, _ := strings.Cut(placeholders.Replace(string(content)), "\n\n")
	head, answer, _ := strings.Cut(answered, "\n\n")
	line, body, _ := strings.Cut(asked, "\n")
	method, address, _ := strings.Cut(line, " ")
	path, _, _ := strings.Cut(address, "?")
	status, _ := strconv.Atoi(strings.Fields(head)[0])
	e := exchange{method: strings.ToLower(method), path: path, body: body, status: status, answer: answer}
	for header := range strings.Lines(head) {
		if value, is := strings.CutPrefix(strings.TrimSpace(header), "Content-Type: "); is {
			e.media = value
		}
	}
	return e
}

// operation returns the path of the document that an address belongs to: the one with most words of its own.
func (l *loaded) operation(e exchange) (path string, found bool) {
	fewest := -1
	for pattern, operations := range l.root["paths"].(map[string]any) {
		words := regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(pattern), `[^/]+`)
		if operations.(map[string]any)[e.method] == nil || !regexp.MustCompile("^"+words+"$").MatchString(e.path) {
			continue
		}
		if open := strings.Count(pattern, "{"); fewest < 0 || open < fewest {
			path, fewest = pattern, open
		}
	}
	return path, fewest >= 0
}

// TestGoldenAnswersAreThoseOfTheDocument validates every golden answer, and the body of every request that was accepted.
func TestGoldenAnswersAreThoseOfTheDocument(t *testing.T) {
	document := load(t)
	files, err := filepath.Glob(answerFiles)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d golden answers: %v", len(files), err)
	}
	answered := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".golden"), func(t *testing.T) {
			e := read(t, file)
			path, found := document.operation(e)
			if !found {
				if e.status < 400 || e.status == http.StatusInternalServerError {
					t.Fatalf("the document has no %s %s, which answers %d", e.method, e.path, e.status)
				}
				if err := document.valid(e.answer, "components", "schemas", "Problem"); err != nil {
					t.Error(err)
				}
				return
			}
			answered[e.method+" "+path] = answered[e.method+" "+path] || e.status < 300
			responses := []string{"paths", path, e.method, "responses", strconv.Itoa(e.status)}
			if e.media == jsonType || e.media == problemType {
				if err := document.valid(e.answer, append(responses, "content", e.media, "schema")...); err != nil {
					t.Error(err)
				}
			} else if err := document.valid(`{}`, append(responses, "content", e.media)...); e.media != "" && err != nil {
				t.Error(err)
			}
			if e.status < 300 && e.body != "" {
				if err := document.valid(e.body, "paths", path, e.method, "requestBody", "content", jsonType, "schema"); err != nil {
					t.Errorf("the accepted request: %v", err)
				}
			}
		})
	}
	if len(answered) < 163 {
		t.Errorf("only %d operations have a golden answer", len(answered))
	}
}

// TestTheDocumentDeclaresEverySchema compiles every schema of the document, and expects null in the words of each value that may be null.
func TestTheDocumentDeclaresEverySchema(t *testing.T) {
	document := load(t)
	for name, schema := range document.root["components"].(map[string]any)["schemas"].(map[string]any) {
		if err := document.valid(`null`, "components", "schemas", name); err == nil {
			t.Errorf("the schema %s takes null", name)
		}
		nullWords(t, name, schema)
	}
	nullWords(t, "paths", document.root["paths"])
}

func nullWords(t *testing.T, at string, value any) {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for n, one := range value {
			nullWords(t, at+"/"+strconv.Itoa(n), one)
		}
	case map[string]any:
		words, listed := value["enum"].([]any)
		kinds, _ := json.Marshal(value["type"])
		if listed && strings.Contains(string(kinds), `"null"`) != (len(words) > 0 && words[len(words)-1] == nil) {
			t.Errorf("%s: the words are %v of the type %s", at, words, kinds)
		}
		for name, one := range value {
			nullWords(t, at+"/"+name, one)
		}
	}
}
