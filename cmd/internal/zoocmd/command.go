// Package zoocmd is the command torture zoo, which looks for known bugs.
package zoocmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/manual"
	"github.com/zktorture/zktorture/zoo"
)

// Manual is what --help says of the command beside its flags.
var Manual = manual.Entry{
	Statuses: []manual.Status{
		{Code: console.ExitOK, Meaning: "Every known bug was found, and every fixed version is clean."},
		{Code: console.ExitViolation, Meaning: "A known bug was not found, or a fixed version was accused."},
		{Code: console.ExitUnknown, Meaning: "There was an error."},
	},
	Examples: []manual.Example{
		{Meaning: "Look for two known bugs.", Line: "torture zoo W1 DQ6"},
	},
}

// known returns an error unless there is a known bug of that name.
func known(c *console.Context, id string) error {
	for _, b := range slices.Concat(zoo.KnownBugs(), zoo.Skipped()) {
		if strings.EqualFold(b.ID, id) {
			return nil
		}
	}
	return fmt.Errorf("unknown bug %q: see %s list zoo", id, c.Self)
}
