package sim

// Fork returns the source of the i-th continuation of a replayed counterexample from a step on.
func Fork(r *Replayed, step, i int) Source { return (&forks{replayed: r}).fork(step, i) }
