// Package cover notes in which ways faults could hit the recipe in the episodes of a campaign, and in which they did.
package cover
