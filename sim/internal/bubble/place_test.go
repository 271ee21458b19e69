package bubble

import "testing"

// A client library's own calls are no place in a recipe, whoever has forked it; what it has of recipes is.
func TestOfRecipe(t *testing.T) {
	for function, want := range map[string]bool{
		"github.com/go-zookeeper/zk.(*Conn).request":        false,
		"github.com/samuel/go-zookeeper/zk.(*Conn).request": false,
		"github.com/samuel/go-zookeeper/zk.resendZkAuth":    false,
		"github.com/samuel/go-zookeeper/zk.(*Lock).Lock":    true,
		"example.com/mine.(*Lock).Lock":                     true,
	} {
		if got := whose(function) == ofRecipe; got != want {
			t.Errorf("%s: %v, want %v", function, got, want)
		}
	}
}
