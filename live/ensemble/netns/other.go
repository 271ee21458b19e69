//go:build !linux

package netns

import "errors"

var errNotLinux = errors.New("netns: a network for the servers needs Linux, whose network namespaces it is made of: " +
	"run this on Linux, or leave out what needs it (partitions between servers)")

// New returns an error: this needs Linux.
func New(hosts int) (*Network, error) { return nil, errNotLinux }

// Allowed returns an error: this needs Linux.
func Allowed() error { return errNotLinux }

// Possible returns an error: this needs Linux.
func Possible() error { return errNotLinux }

// Gain returns an error: this needs Linux.
func Gain() error { return errNotLinux }

// Do calls f in the namespace of a host.
func (n *Network) Do(host int, f func() error) error { return errNotLinux }
