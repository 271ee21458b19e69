// Package campaign cuts campaigns over many recipes into units that run on any machine, and puts their results
// together.
//
// # The model
//
// A [Plan] is a small file: which kinds, recipes, strategies and seeds are run, and how much of each. It stands for a
// list of [Job]s, each one campaign of package sim, and a list of [Unit]s, numbered from 0, each a piece of a job that
// takes seconds to minutes. What a unit gives is a [UnitResult]. Results come in any order, from any machine, and more
// than once: a [Sum] counts each unit once, and compares what is done twice. When all are there each job is concluded,
// once: what was found is minimised and explained. The [Report] is then what one machine would have reported, byte for
// byte.
//
// A unit that gives no result, as its process froze or was killed again and again, is unknown, and so is its job.
package campaign
