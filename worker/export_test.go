package worker

// HostOf serves a workload's recipe over a connection.
var HostOf = hostOf
