package openapi

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// TestAClientIsGenerated makes a client of the document and compiles it.
func TestAClientIsGenerated(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	code, err := codegen.Generate(document, codegen.Configuration{PackageName: "client", Generate: codegen.GenerateOptions{Client: true, Models: true}})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	source, overlay := filepath.Join(folder, "client.go"), filepath.Join(folder, "overlay.json")
	place, err := filepath.Abs("client/client.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{place: source}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{source: []byte(code), overlay: replaced} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if output, err := exec.CommandContext(t.Context(), "go", "vet", "-overlay", overlay, "./client").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}
