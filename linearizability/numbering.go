package linearizability

// numbering numbers values from 0 as it meets them. Most harnesses count up, so most values are small numbers, or texts
// that end in one, as v17. Those are looked up in tables, in which neighbours are near each other; and maps of numbers and
// of texts are much faster than maps of values.
type numbering struct {
	size   int // how many values there will be, roughly
	room   int // how much longer the tables may become, all together
	count  int32
	small  table
	ending map[string]*table // of texts, by what is before the number
	last   string            // one of these …
	lately *table            // … and its table
	ints   map[int64]int32
	texts  map[string]int32
	others map[Value]int32
}

// table has, by number, what stands for it, plus 1; 0 for nothing yet.
type table []int32

const (
	tablesMax = 64  // of texts
	tableRoom = 4   // length of all tables, per value that is expected
	manyTexts = 256 // for fewer, one map is cheaper than several tables
)

func newNumbering(size int) *numbering { return &numbering{size: size, room: tableRoom * size} }

// number returns the number that stands for v, a new one if v has none.
func (n *numbering) number(v Value) int32 {
	if place := n.place(&v); place != nil {
		if *place == 0 {
			n.count++
			*place = n.count
		}
		return *place - 1
	}
	switch v.kind {
	case kindInt:
		return numberIn(&n.ints, v.number, n)
	case kindStr:
		return numberIn(&n.texts, v.text, n)
	}
	return numberIn(&n.others, v, n)
}

// place returns the place of v in a table; nil if it has none, and then it never will: a place is as near as what a table
// has and what it may still get, and that does not become more.
func (n *numbering) place(v *Value) *int32 {
	switch {
	case v.kind == kindInt:
		return n.placeIn(&n.small, v.number)
	case v.kind == kindStr && n.size >= manyTexts:
		if digits, number := endingNumber(v.text); digits > 0 {
			return n.placeIn(n.tableOf(v.text[:len(v.text)-digits]), number)
		}
	}
	return nil
}

func (n *numbering) placeIn(t *table, number int64) *int32 {
	switch {
	case t == nil || number < 0 || number >= int64(len(*t)+n.room):
		return nil
	case number >= int64(len(*t)):
		more := min(n.room, max(int(number)+1, 2*len(*t))-len(*t))
		*t = append(*t, make(table, more)...)
		n.room -= more
	}
	return &(*t)[number]
}

// tableOf returns the table of the texts that begin so; nil if there are too many.
func (n *numbering) tableOf(begin string) *table {
	if n.lately != nil && begin == n.last {
		return n.lately
	}
	t := n.ending[begin]
	if t == nil && len(n.ending) < tablesMax {
		if n.ending == nil {
			n.ending = map[string]*table{}
		}
		t = &table{}
		n.ending[begin] = t
	}
	n.last, n.lately = begin, t
	return t
}

// endingNumber returns the number that a text ends in, without leading zeros, and how many digits it has; none if they
// may not fit.
func endingNumber(text string) (digits int, number int64) {
	from := len(text)
	for from > 0 && '0' <= text[from-1] && text[from-1] <= '9' {
		from--
	}
	for from < len(text)-1 && text[from] == '0' {
		from++
	}
	if len(text)-from > digitsMax {
		return 0, 0
	}
	for _, digit := range text[from:] {
		number = 10*number + int64(digit-'0')
	}
	return len(text) - from, number
}

func numberIn[K comparable](numbers *map[K]int32, key K, n *numbering) int32 {
	number, found := (*numbers)[key]
	if found {
		return number
	}
	if *numbers == nil { // most histories have values of one kind only
		*numbers = make(map[K]int32, n.size)
	}
	number = n.count
	n.count++
	(*numbers)[key] = number
	return number
}

// numberItems returns, by operation, the number of the value that it is about, or noItem; nil if there are none.
func numberItems(h History, of func(*Operation) Value) []int32 {
	if of == nil {
		return nil
	}
	numbers, items := newNumbering(len(h)/2+1), make([]int32, len(h))
	for i := range h {
		items[i] = noItem
		if v := of(&h[i]); !v.IsNull() {
			items[i] = numbers.number(v)
		}
	}
	return items
}

// itemCount is how many values were numbered.
func itemCount(items []int32) int32 {
	last := int32(noItem)
	for _, item := range items {
		last = max(last, item)
	}
	return last + 1
}
