// Package versions knows in what the versions of ZooKeeper differ.
package versions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
)

var compats = map[string]fakezk.Compat{
	"3.5":          {NoEventACLFilter: true, NoOps36: true, NoWhoAmI: true},
	"3.6":          {NoEventACLFilter: true, NoWhoAmI: true},
	"3.7":          {NoEventACLFilter: true},
	"3.8.0":        {NoEventACLFilter: true},
	"3.8.0-debian": {},
	"3.8.4":        {ExistsNeedsRead: true},
	"3.9.2":        {ExistsNeedsRead: true, WatchModesApart: true, VersionSkipsMinusOne: true},
}

// Compat returns the behaviour of a version: 3.5, 3.6, 3.7, 3.8.0, 3.8.0-debian, 3.8.4 or 3.9.2.
func Compat(version string) (fakezk.Compat, error) {
	if c, known := compats[version]; known {
		return c, nil
	}
	versions := strings.Join(slices.Sorted(maps.Keys(compats)), ", ")
	return fakezk.Compat{}, fmt.Errorf("fakezk: no behaviour is known for ZooKeeper %q; use one of %s", version, versions)
}
