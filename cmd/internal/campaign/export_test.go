package campaign

// Hunted says whether an animal was found by its job.
func Hunted(r JobReport) (JobReport, error) {
	hunt, err := huntOf(r.Job.Animal, &r)
	r.Hunt = hunt
	return r, err
}
