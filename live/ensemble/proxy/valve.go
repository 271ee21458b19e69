package proxy

import "sync"

// valve lets frames of one direction pass, or holds them.
type valve struct {
	mu     sync.Mutex
	opened chan struct{} // closed while frames may pass
}

func newValve() *valve {
	v := &valve{opened: make(chan struct{})}
	close(v.opened)
	return v
}

func newValves() [2]*valve { return [2]*valve{newValve(), newValve()} }

// hold lets nothing pass any more, or everything again.
func (v *valve) hold(held bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.opened:
		if held {
			v.opened = make(chan struct{})
		}
	default:
		if !held {
			close(v.opened)
		}
	}
}

// wait waits until frames may pass; false if done comes first.
func (v *valve) wait(done <-chan struct{}) bool {
	v.mu.Lock()
	opened := v.opened
	v.mu.Unlock()
	select {
	case <-opened:
		return true
	case <-done:
		return false
	}
}
