// Package monitor judges the steps of each kind of object in time that is nearly linear in their
// number. A monitor is exact where it answers, and the theorem that it rests on stands at the
// beginning of its file. Where it does not know it says so, and searches decide.
package monitor
