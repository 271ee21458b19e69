package linearizability

import "testing"

// Which hold a release ends follows from all that its process did: without the second hold here the last release may
// end the first. So what is reported has the second one, too, and is illegal by itself.
func TestWhatIsReportedIsIllegalByItself(t *testing.T) {
	h := History{
		{Op: "acquire", Call: 6, Return: 7}, {Op: "acquire", Call: 7, Return: 7}, {Op: "release", Call: 7, Return: 7},
		{Op: "acquire", Call: 7, Return: Forever, Outcome: Unknown}, {Op: "release", Call: 9, Return: 9},
	}
	v := Check(Lock(), h, 0)[0]
	if v.Outcome != Violation {
		t.Fatal(v)
	}
	if alone := Check(Lock(), v.Operations, 0)[0]; alone.Outcome != Violation {
		t.Errorf("%v\nalone: %v", v, alone)
	}
}
