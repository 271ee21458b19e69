package proxy

// Connections is how many connections are open.
func (p *Proxy) Connections() int { return len(p.open()) }
