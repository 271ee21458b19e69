// Package release tries what make release-snapshot has built, as who downloads it would: each thing is unpacked, and does
// its main job in a root directory where there is nothing else, no Go either.
package release
