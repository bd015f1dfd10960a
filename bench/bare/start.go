package bare

import (
	"fmt"
	"os"
	"path/filepath"

	"svc/bench/harness"
)

// startChild starts this program again as a bare server.
func startChild(role, address string, cpu int, dir string, more ...string) (*harness.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program: %w", err)
	}
	environment := append([]string{roleVariable + "=" + role, addressVariable + "=" + address}, more...)
	return harness.StartProcess(cpu, environment, filepath.Join(dir, "bare.log"), self)
}
