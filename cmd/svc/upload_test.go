package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/hex"
	"mime/multipart"
	"testing"
)

func sha1Hex(content []byte) string {
	sum := sha1.Sum(content)
	return hex.EncodeToString(sum[:])
}

// chunkForm builds the body in which sentry-cli sends a chunk, and its type.
func chunkForm(t testing.TB, name string, content []byte) (body []byte, kind string) {
	t.Helper()
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	part, err := form.CreateFormFile("file_gzip", name)
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(part)
	if _, err := zipped.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), form.FormDataContentType()
}
