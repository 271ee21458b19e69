// Package cputime measures processor time, which does not depend on how busy a machine is with other processes.
package cputime

import "time"

// begun is when this process began.
var begun = time.Now()
