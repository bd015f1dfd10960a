package chdb

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// serverSettings returns the settings of the engine as a whole. The library takes them from the arguments of the first
// connection. Its own defaults suit a machine that runs nothing else.
func serverSettings() map[string]string {
	return map[string]string{
		// The engine shares the machine with the rest of the process, so it may have half of the memory (or of the
		// control group's limit) instead of nine tenths.
		"max_server_memory_usage_to_ram_ratio": "0.5",
		// These caches may take 5 GiB each by default. They fill as tables are read. The marks and primary keys of 10⁸
		// rows of our tables take less than 100 MB.
		"mark_cache_size":                    "268435456",
		"primary_index_cache_size":           "134217728",
		"index_mark_cache_size":              "67108864",
		"vector_similarity_index_cache_size": "16777216",
		"iceberg_metadata_files_cache_size":  "16777216",
		"compiled_expression_cache_size":     "33554432",
		// These pools retain their threads after they had work. With the defaults, the removal of merged parts alone
		// starts 128 threads and permanently costs 15 MB.
		"max_parts_cleaning_thread_pool_size":           "4",
		"max_active_parts_loading_thread_pool_size":     "8",
		"max_outdated_parts_loading_thread_pool_size":   "4",
		"max_unexpected_parts_loading_thread_pool_size": "4",
		"max_io_thread_pool_size":                       "32",
		"max_prefixes_deserialization_thread_pool_size": "16",
		"max_format_parsing_thread_pool_size":           "16",
		"max_backups_io_thread_pool_size":               "4",
		"max_thread_pool_free_size":                     "16",
		// The engine reads its memory use at this interval. The default of 50 ms takes a fifth of its idle CPU time.
		"memory_worker_period_ms": "500",
		// The memory of the control group includes the whole process, and most of it does not belong to the engine.
		"memory_worker_use_cgroup": "0",
	}
}

// memorySettings returns the settings for a memory limit in bytes. Zero leaves the engine half of the machine's memory.
// The engine looks for the limit of its control group only at the root, where it misses the limit of a nested group.
func memorySettings(limit int64) map[string]string {
	if limit == 0 {
		return nil
	}
	share := func(part int64, most int64) string { return strconv.FormatInt(min(limit/part, most), 10) }
	return map[string]string{
		"max_server_memory_usage":                  strconv.FormatInt(limit, 10),
		"merges_mutations_memory_usage_soft_limit": strconv.FormatInt(limit/4, 10),
		"mark_cache_size":                          share(16, 256<<20),
		"primary_index_cache_size":                 share(32, 128<<20),
		"index_mark_cache_size":                    share(64, 64<<20),
	}
}

// querySettings returns the settings with which every statement starts. A request overrides them for its own statement.
func querySettings() map[string]string {
	return map[string]string{
		// An insert is answered after its part is written, never before.
		"async_insert": "0",
		// A time without a zone means the same on every machine.
		"session_timezone": "UTC",
	}
}

// arguments returns the argument vector of every connection: the data folder, then the server settings with the
// caller's overrides.
func arguments(dir string, memory int64, override map[string]string) []string {
	settings := serverSettings()
	maps.Copy(settings, memorySettings(memory))
	maps.Copy(settings, override)
	args := []string{"svc", "--path=" + dir}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "--"+k+"="+settings[k])
	}
	return args
}

// baseSettings returns the query settings. One statement may use half of the engine's memory, so that a heavy statement
// fails before concurrent inserts do.
func baseSettings(c *conn, override map[string]string) (map[string]string, error) {
	answer, err := c.execute("SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'", "TabSeparatedRaw")
	if err != nil {
		return nil, fmt.Errorf("reading the engine's memory limit: %w", err)
	}
	limit, err := strconv.ParseUint(strings.TrimSpace(answer), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reading the engine's memory limit: %w", err)
	}
	settings := querySettings()
	settings["max_memory_usage"] = strconv.FormatUint(limit/2, 10)
	for k := range settings {
		if v, ok := override[k]; ok {
			settings[k] = v
		}
	}
	return settings, nil
}

// checkUnused returns an error with the process id if another process has the data folder open. The engine holds a lock
// on the file status and writes its process id there; the lock ends with the process.
func checkUnused(dir string) error {
	file, err := os.Open(filepath.Join(dir, "status"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for another user of the data folder: %w", err)
	}
	defer func() { _ = file.Close() }() // the file was only read
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return nil // closing the file releases the lock
	}
	content, _ := os.ReadFile(file.Name())
	first, _, _ := strings.Cut(string(content), "\n")
	if first == fmt.Sprintf("PID: %d", os.Getpid()) {
		return fmt.Errorf("the data folder %s is already open in this process", dir)
	}
	return fmt.Errorf("the data folder %s is in use by another process (%s)", dir, first)
}
