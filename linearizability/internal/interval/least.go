package interval

// Least answers what the least of some successive numbers is, while they change, all in logarithmic time.
type Least struct {
	n     int     // how many leaves there are, a power of two
	least []int64 // by node of a binary tree: the least number below it
	more  []int64 // by node: what was added to all numbers below it, and is in its own least only
}

// NewLeast returns n numbers.
func NewLeast(n int, number func(int) int64) *Least {
	l := &Least{n: 1}
	for l.n < n {
		l.n *= 2
	}
	l.least, l.more = make([]int64, 2*l.n), make([]int64, 2*l.n)
	for i := range l.n {
		l.least[l.n+i] = Forever
		if i < n {
			l.least[l.n+i] = number(i)
		}
	}
	for node := l.n - 1; node > 0; node-- {
		l.pull(node)
	}
	return l
}

// pull works out a node from the two below it.
func (l *Least) pull(node int) {
	l.least[node] = min(l.least[2*node], l.least[2*node+1]) + l.more[node]
}

func (l *Least) pullAbove(node int) {
	for node /= 2; node > 0; node /= 2 {
		l.pull(node)
	}
}

// Add adds to the numbers from one place to before another.
func (l *Least) Add(from, to int, by int64) {
	if from >= to {
		return
	}
	add := func(node int) {
		l.least[node] += by
		l.more[node] += by
	}
	a, b := l.n+from, l.n+to-1
	if add(a); a != b {
		add(b)
	}
	for ; a/2 != b/2; a, b = a/2, b/2 {
		if a%2 == 0 {
			add(a + 1)
		}
		if b%2 == 1 {
			add(b - 1)
		}
		l.pull(a / 2)
		l.pull(b / 2)
	}
	l.pullAbove(a)
}

// Of returns the least of the numbers from one place to before another, Forever if there are none.
func (l *Least) Of(from, to int) int64 {
	if from >= to {
		return Forever
	}
	a, b := l.n+from, l.n+to-1
	least, right := l.least[a], l.least[b]
	for ; a/2 != b/2; a, b = a/2, b/2 {
		if a%2 == 0 {
			least = min(least, l.least[a+1])
		}
		if b%2 == 1 {
			right = min(right, l.least[b-1])
		}
		least, right = least+l.more[a/2], right+l.more[b/2]
	}
	least = min(least, right)
	for a /= 2; a > 0; a /= 2 {
		least += l.more[a]
	}
	return least
}
