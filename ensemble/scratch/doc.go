// Package scratch makes folders that do not outlive the process that uses them, however that ends.
//
// # The model
//
// A [Folder] has an owner, the process that made it, and goes in one of three ways:
//
//   - in order: the owner calls [Folder.Remove];
//   - the owner dies, by SIGKILL or a panic: the folder's remover, a shell that waits for the end of its standard
//     input, whose other end only the owner has, sees that and removes the folder. It is in a session of its
//     own, so that what ends a process group, a terminal or its user's patience does not reach it;
//   - both die, as when a container ends: the next [New] in the same place removes it.
//
// A remover that is killed while the owner lives is replaced by another.
//
// # What is one's own
//
// Beside a folder is a file of its name with .lock at the end, which the owner keeps locked (flock(2)) for as long as
// it lives; the kernel gives the lock back when it has died, whatever killed it. A process id would not do: ids
// are used again, and mean something else in another container that shares the place. The file says in its first
// line what it is. A folder is removed for its dead owner only if it has such a file, of the same user, which
// nobody has locked.
//
// Invariants: a file that says what it is has been locked before, so that nobody takes the folder of a living
// owner for a dead one's; and it is the first thing to be made and the last to be removed, so that what was half
// made or half removed is still known by it.
//
// What is written after the last look of a remover stays: whoever writes into a folder has to die with its owner.
package scratch
