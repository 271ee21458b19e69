package proxy

// What is here hurts a single connection, by its number. It does nothing if that has ended.

// CutOne resets a connection at both ends.
func (p *Proxy) CutOne(number int) {
	if c := p.numbered(number); c != nil {
		c.cut()
	}
}

// CutOffOne resets the end of a connection from which a direction's frames come; see [Proxy.CutOff].
func (p *Proxy) CutOffOne(number int, d Direction) {
	if c := p.numbered(number); c != nil {
		c.cutOff(d)
	}
}

// HoldOne lets nothing pass in a direction of a connection, or everything again.
func (p *Proxy) HoldOne(number int, d Direction, held bool) {
	if c := p.numbered(number); c != nil {
		c.valves[d].hold(held)
	}
}

// SessionOf returns the session of a connection; its ID is 0 before one is granted, and after the
// connection has ended.
func (p *Proxy) SessionOf(number int) Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.conns[number]; c != nil {
		return c.session
	}
	return Session{}
}

func (p *Proxy) numbered(number int) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns[number]
}
