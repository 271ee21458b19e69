package worker

// HostOf serves a workload's recipe over a connection.
var HostOf = hostOf

// Vigil watches whether a process is awake.
type Vigil = vigil

func (v *vigil) Over(asleep bool, naps int) bool { return v.over(asleep, naps) }
