//go:build !unix

package units

import "os"

// claimOutput takes standard output away from all else in this process that prints to os.Stdout from now on.
func claimOutput() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
