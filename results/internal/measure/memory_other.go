//go:build !linux

package measure

import "os"

// MaxResidentMB is not known here: systems count it in units of their own, or not at all.
func MaxResidentMB(*os.ProcessState) int64 { return 0 }
