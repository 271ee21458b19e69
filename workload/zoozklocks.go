package workload

// The animals that are locks on ephemeral sequential znodes, kazoo's and Curator's.
var zkLockAnimals = []Animal{}

var absentZKLocks = []Absent{}
