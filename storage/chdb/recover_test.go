package chdb

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRecoverTokens(t *testing.T) {
	for name, c := range map[string]struct {
		parts []string
		logs  map[string]string
		taken int
		want  string
	}{
		"every part exists": {
			parts: []string{"202609_1_1_0", "202610_2_2_0"},
			logs:  map[string]string{"deduplication_log_1.txt": "1\t202609_1_1_0\ta\n1\t202610_2_2_0\tb\n"},
			want:  "1\t202609_1_1_0\ta\n1\t202610_2_2_0\tb\n",
		},
		"merged and mutated parts cover": {
			parts: []string{"all_1_5_2_9"},
			logs:  map[string]string{"deduplication_log_1.txt": "1\tall_1_1_0\ta\n1\tall_5_5_1\tb\n"},
			want:  "1\tall_1_1_0\ta\n1\tall_5_5_1\tb\n",
		},
		"missing part": {
			parts: []string{"202609_1_1_0", "tmp_insert_202609_2_2_0", "detached"},
			logs:  map[string]string{"deduplication_log_1.txt": "1\t202609_1_1_0\ta\n1\t202609_2_2_0\tb\n"},
			taken: 1,
			want:  "1\t202609_1_1_0\ta\n1\t202609_2_2_0\tb\n2\t202609_2_2_0\tb\n",
		},
		"other partition does not cover": {
			parts: []string{"202609_1_9_1"},
			logs:  map[string]string{"deduplication_log_1.txt": "1\t202610_2_2_0\tb\n"},
			taken: 1,
			want:  "1\t202610_2_2_0\tb\n2\t202610_2_2_0\tb\n",
		},
		"already dropped": {
			logs: map[string]string{"deduplication_log_1.txt": "1\tall_1_1_0\ta\n2\tall_1_1_0\ta\n"},
			want: "1\tall_1_1_0\ta\n2\tall_1_1_0\ta\n",
		},
		"newest of ten logs, with an unfinished line": {
			logs: map[string]string{
				"deduplication_log_9.txt":  "1\tall_1_1_0\ta\n",
				"deduplication_log_10.txt": "1\tall_2_2_0\tb\n1\tall_3",
			},
			taken: 2,
			want:  "1\tall_2_2_0\tb\n2\tall_1_1_0\ta\n2\tall_2_2_0\tb\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folder := filepath.Join(dir, "store", "abc", "abc-def", "deduplication_logs")
			for _, p := range append(c.parts, "deduplication_logs") {
				if err := os.MkdirAll(filepath.Join(filepath.Dir(folder), p), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			newest := ""
			for file, content := range c.logs {
				newest = max(newest, file)
				if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if len(c.logs) == 2 {
				newest = "deduplication_log_10.txt"
			}
			for _, taken := range []int{c.taken, 0} { // the second run revokes nothing
				if n, err := recoverTokens(dir); err != nil || n != taken {
					t.Fatalf("took back %d notes (%v), want %d", n, err, taken)
				}
				if got, err := os.ReadFile(filepath.Join(folder, newest)); err != nil || string(got) != c.want {
					t.Fatalf("got %q (%v), want %q", got, err, c.want)
				}
			}
		})
	}
}
