// Package runner runs episodes and sees from outside that their worlds turn: it gives up those that stand still, keeps a
// file of the one that is under way for the case that the process dies, and bounds what episodes leave behind.
package runner
