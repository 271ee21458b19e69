// Package webpage is what the pages over several runs have in common: how they look, and uPlot (MIT), which draws their
// plots. All of it is put into the page, which loads nothing. And it keeps pages of others away from the HTTP ports that
// a program opens for its own machine: a browser there can reach these ports, and does what any page tells it to.
package webpage

import _ "embed" // embeds what follows

// Look is the style sheet: colours for both schemes, cards, tables, and the plots' text.
//
//go:embed look.css
var Look string

// The plots: uPlot's script, and its style sheet.
var (
	//go:embed uplot.js
	UPlot string
	//go:embed uplot.css
	UPlotStyle string
)
