package live

import (
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// surveyMax bounds how many znodes a survey reads.
const surveyMax = 1000

// readBelow adds the stats of what is below a znode to a tree. What goes meanwhile is gone.
func readBelow(conn recipes.Conn, parent string, tree map[string]*zk.Stat) error {
	names, _, err := conn.Children(parent)
	if err != nil && err != zk.ErrNoNode {
		return fmt.Errorf("live: the children of %s cannot be read: %w", parent, err)
	}
	for _, name := range names {
		below := path.Join(parent, name)
		there, stat, err := conn.Exists(below)
		switch {
		case err != nil:
			return fmt.Errorf("live: %s cannot be read: %w", below, err)
		case !there:
			continue
		case len(tree) >= surveyMax:
			return fmt.Errorf("live: there are more than %d znodes", surveyMax)
		}
		if tree[below] = stat; stat.NumChildren == 0 {
			continue
		}
		if err := readBelow(conn, below, tree); err != nil {
			return err
		}
	}
	return nil
}
