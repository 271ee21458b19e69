package workload

// The animals that are elections, semaphores and the rest.
var otherAnimals = []Animal{}

var absentOthers = []Absent{}
