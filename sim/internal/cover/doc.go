// Package cover notes what episodes have shown of the world, in a form in which several add up, and says how much that is.
package cover
