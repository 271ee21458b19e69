//go:build !linux

package main

import "os"

// maxResidentMB is not known here: systems count it in units of their own, or not at all.
func maxResidentMB(*os.ProcessState) int64 { return 0 }
