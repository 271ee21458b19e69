//go:build !unix

package parts

import "os"

// ClaimOutput takes standard output away from all else in this process that prints to os.Stdout from now on.
func ClaimOutput() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
