package proxy

import "sync"

// gate lets frames of one direction pass, or holds them.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed while frames may pass
}

func newGate() *gate {
	g := &gate{opened: make(chan struct{})}
	close(g.opened)
	return g
}

func newGates() [2]*gate { return [2]*gate{newGate(), newGate()} }

// hold lets nothing pass any more, or everything.
func (g *gate) hold(held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
		if held {
			g.opened = make(chan struct{})
		}
	default:
		if !held {
			close(g.opened)
		}
	}
}

// wait waits until frames may pass; it returns false if done comes first.
func (g *gate) wait(done <-chan struct{}) bool {
	for {
		g.mu.Lock()
		opened := g.opened
		g.mu.Unlock()
		select {
		case <-opened:
			return true
		case <-done:
			return false
		}
	}
}
