// Package draw has the strategies: sources that draw the episodes of a campaign, each from the campaign's seed and the
// number of the episode.
package draw
