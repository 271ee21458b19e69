package linearizability

// numbering numbers values from 0 as it meets them. Maps of numbers and of texts are much faster than maps of values.
type numbering struct {
	size   int // how many values there will be, roughly
	ints   map[int64]int32
	texts  map[string]int32
	others map[Value]int32
}

func newNumbering(size int) *numbering { return &numbering{size: size} }

func (n *numbering) count() int { return len(n.ints) + len(n.texts) + len(n.others) }

// number returns the number that stands for v, a new one if v has none.
func (n *numbering) number(v Value) int32 {
	switch v.kind {
	case kindInt:
		return numberIn(&n.ints, v.number, n)
	case kindStr:
		return numberIn(&n.texts, v.text, n)
	}
	return numberIn(&n.others, v, n)
}

func numberIn[K comparable](numbers *map[K]int32, key K, n *numbering) int32 {
	number, found := (*numbers)[key]
	if found {
		return number
	}
	if *numbers == nil { // most histories have values of one kind only
		*numbers = make(map[K]int32, n.size)
	}
	number = int32(n.count())
	(*numbers)[key] = number
	return number
}
