package proxy

// Waiting is how many bytes the proxy holds.
func (p *Proxy) Waiting() int64 { return p.waiting.Load() }

// Connections is how many connections are open.
func (p *Proxy) Connections() int { return len(p.open()) }
