package goclient_test

import (
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
)

// Who gets a list of children may append to it and change it: lists do not share memory.
func TestListsOfChildrenAreApart(t *testing.T) {
	c, _, _ := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	for _, path := range []string{"/a", "/a/1", "/a/2"} {
		if _, err := c.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	var lists [20][]string
	for i := range lists {
		list, _, err := c.Children("/a")
		if err != nil {
			t.Fatal(err)
		}
		lists[i] = list
	}
	for _, list := range lists {
		if slices.Sort(list); !slices.Equal(list, []string{"1", "2"}) {
			t.Fatalf("%q: want 1 and 2", list)
		}
		list[0] = "changed"
		_ = append(list, "more")
	}
}
