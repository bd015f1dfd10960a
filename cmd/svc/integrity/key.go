package integrity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckKeyFile reports a missing master key file while the embedded store of the folder has data: a new key could not
// open the secrets that the lost one sealed.
func CheckKeyFile(inspection *Inspection, file, store string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := filepath.Glob(filepath.Join(store, "store", "*"))
	if err != nil || len(entries) == 0 {
		return err
	}
	return inspection.Report(Finding{
		What:  fmt.Sprintf("the master key %s is gone, and the store beside it has data that it sealed; restore it from a backup, or set SVC_MASTER_KEY", file),
		Would: "makes a new key: channels and credentials of model providers have to be entered again, and open consoles end",
		Apply: func() error { return nil }, First: true,
	})
}
