// Package search runs all executions within a bound, each state once, and says how far it has come.
package search
