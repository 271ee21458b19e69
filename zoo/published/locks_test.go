package published

import (
	"errors"
	"strconv"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
)

// As printed the class fails at once; with the root fixed it fails a little later.
func TestLocksAsPrinted(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		for _, test := range []struct {
			bugs Bugs
			want error
		}{
			{AllBugs(), zk.ErrNoChildrenForEphemerals},
			{OnlyBugs("LK5"), strconv.ErrSyntax},
			{OnlyBugs("LK7"), errNullPointer},
		} {
			client := connect(t, servers)
			user := NewLocksUser(new(LocksClass), client, "/lock", test.bugs)
			if err := user.Lock(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("bugs %v: %v, want %v", test.bugs, err, test.want)
			}
			client.Close()
		}
	})
}
