// Package escape writes texts for what reads them: a terminal, a shell, a page.
//
// Names and messages of servers, workers and files may contain control characters: sequences that clear the screen,
// set the window's title or hide what follows (ECMA-48), or characters that reverse the direction of a line (Unicode
// TR 36). [Writer] stands between a program and its terminal and escapes them, for example as \u001b. Lines and tabs
// remain. In JSON's strings such an escape is the same character, so JSON keeps its meaning. A byte that is not UTF-8
// is shown as \xff.
package escape
