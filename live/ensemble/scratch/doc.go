// Package scratch makes folders that do not outlive the process that uses them, however that ends.
//
// # The model
//
// A [Folder] has an owner, the process that made it, and goes in one of three ways:
//
//   - in order: the owner calls [Folder.Remove];
//   - the owner dies, by SIGKILL or a panic: the folder's remover, a shell in a session of its own that waits for the
//     owner's end (package afterlife), removes the folder. A remover that is killed while the owner lives is replaced;
//   - both die, as when a container ends: the next [New] in the same place removes it.
//
// # Which folders may be removed
//
// Beside a folder is a file of its name with .lock at the end, which the owner keeps locked (flock(2)) while it
// lives; the kernel unlocks it when the owner has died, whatever killed it. A process id would not do: ids are
// reused, and differ between containers that share the place. The first line of the file is a mark. A folder is
// removed for its dead owner only if it has such a file, marked, of the same user, and unlocked.
//
// Invariants: a marked file has been locked before, so a living owner is never taken for dead; and it is made first and
// removed last, so that a folder that is half made or half removed is still recognised.
//
// What is written after the remover's last look stays: whatever writes into a folder has to die with its owner.
package scratch
