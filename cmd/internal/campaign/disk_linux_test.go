package campaign

import "golang.org/x/sys/unix"

// smallDisk makes a folder a disk of its own.
func smallDisk(dir string) (unmount func(), err error) {
	err = unix.Mount("none", dir, "tmpfs", 0, "size=24m")
	return func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }, err
}
