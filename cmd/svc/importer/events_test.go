package importer

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
)

func TestCompleteItem(t *testing.T) {
	t.Parallel()
	id := func(line string) string { return lineID("imp_", 7, []byte(line)) }
	for _, test := range []struct{ name, line, item, visitor string }{
		{"complete", `{"type":"page","id":"e1","distinctId":"u"}`, `{"type":"page","id":"e1","distinctId":"u"}`, "u"},
		{"no id", `{"type":"page","anonymousId":"a"}`, `{"id":"$ID","type":"page","anonymousId":"a"}`, "a"},
		{"no type", `{ "id":"e1", "name":"x" }`, `{"type":"event","id":"e1", "name":"x" }`, ""},
		{"neither", `{"name":"x","distinctId":"u","anonymousId":"a"}`, `{"type":"event","id":"$ID","name":"x","distinctId":"u","anonymousId":"a"}`, "u"},
		{"empty", `{}`, `{"type":"event","id":"$ID"}`, ""},
		{"says nothing", `{"id":"","type":null,"name":"x"}`, `{"type":"event","id":"$ID","name":"x"}`, ""},
		{"wrong types are the server's", `{"type":"page","id":7}`, `{"type":"page","id":7}`, ""},

		{"no object", `["a"]`, "", ""},
		{"broken", `{"name":"x"`, "", ""},
		{"two objects", `{"id":"a"}{"id":"b"}`, "", ""},
		{"text", `name`, "", ""},
		{"too long", `{"id":"a","name":"` + strings.Repeat("x", longestItem) + `"}`, "", ""},
	} {
		item, visitor, ok := completeItem(7, []byte(test.line))
		if want := strings.ReplaceAll(test.item, "$ID", id(test.line)); test.item != "" && string(item) != want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, item, want)
		}
		if ok != (test.item != "") || ok && (visitor != test.visitor || !json.Valid(item)) {
			t.Errorf("%s: %v, visitor %q, item %s", test.name, ok, visitor, item)
		}
	}
}

func FuzzCompleteItem(f *testing.F) {
	for _, seed := range []string{`{}`, `{"id":"a"}`, `{"id":null,"type":"page"}`, `{ "name" : "x" }`, `[`, `{"a":{"id":1}}`, "{\"id\":\"\xff\"}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			return
		}
		item, _, ok := completeItem(1, line)
		if !ok {
			return
		}
		var members map[string]any
		if err := json.Unmarshal(item, &members); err != nil {
			t.Fatalf("%q became %q: %v", line, item, err)
		}
		if members["id"] == "" || members["id"] == nil || members["type"] == "" || members["type"] == nil {
			t.Fatalf("%q became %q", line, item)
		}
	})
}

func TestImportOfNoEvents(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), []string{"events", os.DevNull, "--key", "svc_sec_prod_x"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "holds no line") {
		t.Error("got", err)
	}
	if _, err := parseImportFlags(importsEvents, []string{"f", "--align-end", "now"}, func(string) (string, bool) { return "", false }); err == nil {
		t.Error("events were aligned")
	}
}
