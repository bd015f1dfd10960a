package process

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFindMemory reads limits in the forms of kernels and containers.
func TestFindMemory(t *testing.T) {
	t.Parallel()
	const mib, machine = 1 << 20, "MemTotal:        8388608 kB\nMemFree: 1 kB\n"
	const unlimited = "9223372036854771712\n"
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		stated int64
		want   int64
	}{
		"no group":           {want: 8192 * mib},
		"a setting":          {stated: 700 * mib, want: 700 * mib},
		"more than there is": {stated: 9000 * mib, want: 8192 * mib},
		"version 2":          {groups: "0::/a/b\n", files: map[string]string{"sys/fs/cgroup/a/b/memory.max": "536870912\n"}, want: 512 * mib},
		"the group around":   {groups: "0::/a/b\n", files: map[string]string{"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "536870912\n"}, want: 512 * mib},
		"the least of both":  {groups: "0::/a/b\n", files: map[string]string{"sys/fs/cgroup/a/b/memory.max": "734003200\n", "sys/fs/cgroup/a/memory.max": "536870912\n"}, want: 512 * mib},
		"no limit":           {groups: "0::/a/b\n", files: map[string]string{"sys/fs/cgroup/a/b/memory.max": "max\n"}, want: 8192 * mib},
		"a high mark":        {groups: "0::/a\n", files: map[string]string{"sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.high": "536870912\n"}, want: 512 * mib},
		"a container":        {groups: "0::/\n", files: map[string]string{"sys/fs/cgroup/memory.max": "536870912\n"}, want: 512 * mib},
		"a path of the host": {groups: "0::/../../docker/1\n", files: map[string]string{"sys/fs/cgroup/memory.max": "536870912\n"}, want: 512 * mib},
		"less in a setting":  {groups: "0::/\n", files: map[string]string{"sys/fs/cgroup/memory.max": "734003200\n"}, stated: 512 * mib, want: 512 * mib},
		"version 1": {groups: "9:name=systemd:/\n4:cpu,memory:/a/b\n0::/\n", files: map[string]string{
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "536870912\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": unlimited,
		}, want: 512 * mib},
		"version 1, around": {groups: "4:memory:/a/b\n", files: map[string]string{
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": unlimited, "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "536870912\n",
		}, want: 512 * mib},
		"version 1, a container": {groups: "4:memory:/docker/1\n", files: map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n"}, want: 512 * mib},
		"both versions":          {groups: "4:pids:/a\n0::/a\n", files: map[string]string{"sys/fs/cgroup/unified/a/memory.max": "536870912\n"}, want: 512 * mib},
		"nonsense":               {groups: "0:/\nmemory\n\n0::/a\n", files: map[string]string{"sys/fs/cgroup/a/memory.max": "much\n"}, want: 8192 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			files := map[string]string{"proc/meminfo": machine, "proc/self/cgroup": c.groups}
			for file, text := range c.files {
				files[file] = text
			}
			for file, text := range files {
				if err := os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := FindMemory(root, c.stated); got != c.want {
				t.Errorf("%d MiB, want %d", got/mib, c.want/mib)
			}
		})
	}
}

// TestDivideMemory checks all parts of a small and of a large memory.
func TestDivideMemory(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for total, want := range map[int64]Memory{
		512 * mib:   {Total: 512 * mib, Engine: 348966092, Heap: 214748364, Block: 4 * mib, Fetched: 16 * mib, Maps: 32 * mib, Ingest: 128 * mib},
		65536 * mib: {Total: 65536 * mib, Engine: 44667659878, Heap: 27487790694, Block: 128 * mib, Fetched: 64 * mib, Maps: 256 * mib, Ingest: 256 * mib},
	} {
		if got := DivideMemory(total, 256*mib, true); got != want {
			t.Errorf("%d MiB: %+v, want %+v", total/mib, got, want)
		}
	}
	if got := DivideMemory(600*mib, 256*mib, false); got.Engine != 0 || got.Heap != 500*mib {
		t.Errorf("without an engine: %+v", got)
	}
}
