// Package shrink minimises counterexamples: of a run in which a property breaks it makes the smallest that it finds.
package shrink
