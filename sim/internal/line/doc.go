// Package line has the connections over the wire between a client of the unmodified go-zookeeper, or its dialer, and the
// loop of a world: in memory, frame by frame.
package line
