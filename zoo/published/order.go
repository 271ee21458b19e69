package published

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/recipes"
)

// standing is a znode in a line, and the number by which it stands there.
type standing struct {
	head   string // comes before the number; "" where all are equal
	number int64
	name   string
}

// inOrder sorts a directory's znodes. Their numbers are the sequence numbers or, after the wrap of those, the
// transactions that created the znodes; what is gone when asked for these is left out.
func inOrder(ctx context.Context, client recipes.Conn, dir string, line []standing) ([]standing, error) {
	if slices.ContainsFunc(line, standing.wrapped) {
		var err error
		if line, err = dated(ctx, client, dir, line); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(line, standing.compare)
	return line, nil
}

func (s standing) wrapped() bool { return wrapped(s.number) }

func (s standing) compare(t standing) int {
	return cmp.Or(strings.Compare(s.head, t.head), cmp.Compare(s.number, t.number), strings.Compare(s.name, t.name))
}

// wrapped tells whether a sequence number may not be greater than all before it.
func wrapped(number int64) bool { return number < 0 || number == math.MaxInt32 }

func dated(ctx context.Context, client recipes.Conn, dir string, line []standing) (alive []standing, err error) {
	for _, s := range line {
		stat, err := statOf(ctx, client, dir+"/"+s.name)
		if err != nil {
			return nil, err
		}
		if stat != nil {
			s.number = stat.Czxid
			alive = append(alive, s)
		}
	}
	return alive, nil
}
