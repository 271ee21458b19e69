package server

import "os"

// BreakData makes the next write to the folder of data fail, as on a full disk.
func (s *Server) BreakData() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data.log.Close()
}

// MendData opens the log again, as when a full disk has room again.
func (s *Server) MendData() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data.log, err = os.OpenFile(s.data.path(logFile), os.O_APPEND|os.O_WRONLY, 0)
	return err
}
