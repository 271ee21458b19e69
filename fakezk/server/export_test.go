package server

// BreakData makes the next write to the folder of data fail, as on a full disk.
func (s *Server) BreakData() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data.log.Close()
}
