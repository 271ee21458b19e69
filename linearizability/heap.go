package linearizability

// priorities is a [container/heap.Interface]: what is before all others comes first.
type priorities[T any] struct {
	all    []T
	before func(a, b T) bool
}

func (p *priorities[T]) Len() int           { return len(p.all) }
func (p *priorities[T]) Less(i, k int) bool { return p.before(p.all[i], p.all[k]) }
func (p *priorities[T]) Swap(i, k int)      { p.all[i], p.all[k] = p.all[k], p.all[i] }
func (p *priorities[T]) Push(x any)         { p.all = append(p.all, x.(T)) }

func (p *priorities[T]) Pop() any {
	last := len(p.all) - 1
	x := p.all[last]
	p.all = p.all[:last]
	return x
}

// byEnd is for steps, given by their places: what ends first comes first.
func byEnd(steps []step) priorities[int32] {
	return priorities[int32]{before: func(a, b int32) bool { return steps[a].end < steps[b].end }}
}
