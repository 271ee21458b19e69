// Package webpage is how the pages over several runs look, each of which loads nothing. And it keeps pages of others away
// from the HTTP ports that a program opens for its own machine: a browser there can reach these ports, and does what any page
// tells it to.
package webpage

import _ "embed" // embeds what follows

// Look is the style sheet: colours for both schemes, cards and tables.
//
//go:embed look.css
var Look string
