//go:build !unix

package cputime

import "time"

// Spent is the time since this process began: its processor time is not known here.
func Spent() time.Duration { return time.Since(begun) }
