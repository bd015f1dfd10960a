// Command gen writes crawlers.json, the crawler patterns that package enrich embeds, and CRAWLERS-LICENSE, their
// licence. It downloads one pinned version of the npm package crawler-user-agents with the npm client and writes only
// the patterns. Run it from the root of the module:
//
//	go run ./actors/enrich/gen
package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	pinned    = "crawler-user-agents@1.60.0"
	integrity = "p8hKVsnZl3msolBhGW8s86V0tmmcuBSwhTXkzkegGQzTt0A/ysKDHKzek9fichfqL5qBEgDrR9CuGBU0Y7bDrg=="
	target    = "actors/enrich"
)

// excluded lists the patterns of the package that match software with which people view pages.
func excluded() []string {
	return []string{
		`okhttp`,                                               // HTTP client inside Android applications
		`AP3A\.240617\.008`,                                    // build of Android 15 on telephones of several makers
		`Viber`, `Daum\/`, `PayPal\/`, `Tumblr\/`, `Bluesky\/`, // in-app browsers
		`Notion\/`, `Code\/1\.`, `Trae\/`, `Sora POS\/`, // desktop and till applications
		`Fluid`, `Sonic`, `Goodreads`, `Grammarly\/`, `Overcast\/`, `PocketCasts\/`,
		`RED\/`, `Make\/`, `Operator\/`, // ends of longer product names
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generating the crawler patterns:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "crawlers")
	if err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	pack := exec.Command("npm", "pack", "--loglevel=error", "--ignore-scripts", pinned)
	pack.Dir = dir
	pack.Stderr = os.Stderr
	if err := pack.Run(); err != nil {
		return fmt.Errorf("downloading %s: %w", pinned, err)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("downloading %s: got %d archives: %w", pinned, len(archives), err)
	}
	files, err := read(archives[0], "package/crawler-user-agents.json", "package/LICENSE")
	if err != nil {
		return fmt.Errorf("reading the package: %w", err)
	}
	patterns, err := compact(files[0])
	if err != nil {
		return fmt.Errorf("reading the patterns: %w", err)
	}
	if err := os.WriteFile(filepath.Join(target, "crawlers.json"), patterns, 0o644); err != nil {
		return fmt.Errorf("writing the patterns: %w", err)
	}
	licence := "crawlers.json holds patterns of the npm package " + pinned + ".\n\n" + string(files[1])
	if err := os.WriteFile(filepath.Join(target, "CRAWLERS-LICENSE"), []byte(licence), 0o644); err != nil {
		return fmt.Errorf("writing the licence: %w", err)
	}
	return nil
}

// read checks the archive against the recorded checksum and returns the files
// of the given names, in that order.
func read(archive string, names ...string) ([][]byte, error) {
	packed, err := os.ReadFile(archive)
	if err != nil {
		return nil, err
	}
	if sum := sha512.Sum512(packed); base64.StdEncoding.EncodeToString(sum[:]) != integrity {
		return nil, errors.New("the archive differs from its recorded checksum")
	}
	unzipped, err := gzip.NewReader(strings.NewReader(string(packed)))
	if err != nil {
		return nil, err
	}
	files := make([][]byte, len(names))
	for entries := tar.NewReader(unzipped); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if i := slices.Index(names, header.Name); i >= 0 {
			if files[i], err = io.ReadAll(entries); err != nil {
				return nil, err
			}
		}
	}
	for i, name := range names {
		if files[i] == nil {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return files, nil
}

// compact returns the patterns of the package's list that are not excluded, in their order, one per line.
func compact(list []byte) ([]byte, error) {
	var entries []struct{ Pattern string }
	if err := json.Unmarshal(list, &entries); err != nil {
		return nil, err
	}
	var lines []string
	found := 0
	for _, entry := range entries {
		if slices.Contains(excluded(), entry.Pattern) {
			found++
			continue
		}
		line := &strings.Builder{}
		encoder := json.NewEncoder(line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(entry.Pattern); err != nil {
			return nil, err
		}
		lines = append(lines, strings.TrimSpace(line.String()))
	}
	if found != len(excluded()) {
		return nil, fmt.Errorf("%d of %d excluded patterns exist", found, len(excluded()))
	}
	return []byte("[\n" + strings.Join(lines, ",\n") + "\n]\n"), nil
}
