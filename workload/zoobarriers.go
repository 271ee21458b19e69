package workload

// The animals that are barriers.
var barrierAnimals = []Animal{}

var absentBarriers = []Absent{}
