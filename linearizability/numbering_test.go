package linearizability

import (
	"math"
	"slices"
	"testing"

	"github.com/zktorture/zktorture/linearizability/internal/parallel"
	"github.com/zktorture/zktorture/linearizability/internal/step"
	"pgregory.net/rapid"
)

// Property: equal values have equal numbers, and new ones the next number, whatever size was expected.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers, want := newNumbering(rapid.IntRange(0, 40).Draw(t, "size")), map[Value]int32{}
		for _, v := range rapid.SliceOf(someValue).Draw(t, "values") {
			if _, known := want[v]; !known {
				want[v] = int32(len(want))
			}
			if got := numbers.number(v); got != want[v] {
				t.Fatalf("%v has the number %d, want %d", v, got, want[v])
			}
		}
	})
}

// anyValue draws values of all kinds.
var anyValue = rapid.OneOf(rapid.Just(Null), rapid.Just(Bool(true)), rapid.Just(Bool(false)),
	rapid.Map(rapid.Int64(), Int), rapid.Map(rapid.String(), Str))

// someValue draws values that are often equal, or equal but for their kinds.
var someValue = rapid.OneOf(anyValue, rapid.Map(rapid.Int64Range(-1, 30), Int),
	rapid.Map(rapid.StringMatching("[0-9]{0,2}"), Str), rapid.Just(Null))

// Property: values whose hashes are equal are told apart.
func TestNumberingOfEqualHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers, want := newNumbering(0), map[Value]int32{}
		for _, v := range rapid.SliceOf(someValue).Draw(t, "values") {
			hash := hashOf(v) % 3
			if _, known := want[v]; !known {
				want[v] = int32(len(want))
			}
			if got := numbers.numberHashed(v, hash); got != want[v] {
				t.Fatalf("%v has the number %d, want %d", v, got, want[v])
			}
		}
	})
}

// Property: any number of goroutines number as a map would that is asked for one value after the other.
func TestNumberItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := make(History, rapid.IntRange(0, 60).Draw(t, "operations"))
		hashes, want, known := make([]uint32, len(h)), make([]int32, len(h)), map[Value]int32{}
		for i := range h {
			v := someValue.Draw(t, "value")
			h[i].Arg, hashes[i], want[i] = v, hashOf(v), step.NoItem
			if v.IsNull() {
				continue
			}
			if _, found := known[v]; !found {
				known[v] = int32(len(known))
			}
			want[i] = known[v]
		}
		of := func(op *Operation) Value { return op.Arg }
		for goroutines := range 5 {
			if got := numberHashed(h, of, hashes, goroutines+1); !slices.Equal(got, want) {
				t.Fatalf("%d goroutines: %v, want %v", goroutines+1, got, want)
			}
		}
	})
}

// Property: where the short way says that nothing overlaps the long way finds nothing either, however many goroutines
// look, and they say the same of any history.
func TestOneByOne(t *testing.T) {
	ordered := 0
	operation := rapid.Custom(func(t *rapid.T) Operation {
		call := rapid.Int64Range(0, 9).Draw(t, "call")
		return Operation{Client: rapid.IntRange(0, 2).Draw(t, "client"), Call: call, Op: "acquire",
			Return:  call + rapid.Int64Range(0, 2).Draw(t, "takes"),
			Outcome: rapid.SampledFrom([]Outcome{OK, OK, Unknown}).Draw(t, "outcome")}
	})
	rapid.Check(t, func(t *rapid.T) {
		h := History(rapid.SliceOfN(operation, 0, 5).Draw(t, "history"))
		m := Lock()
		looks := func(goroutines int) []look {
			looks := make([]look, goroutines)
			parallel.Do(len(h), goroutines, func(k, from, to int) { looks[k] = m.look(h, from, to, make([]uint32, len(h))) })
			return looks
		}
		alone := oneByOne(looks(1))
		for goroutines := range 4 {
			if oneByOne(looks(goroutines+1)) != alone {
				t.Fatalf("%d goroutines do not say %v", goroutines+1, alone)
			}
		}
		if !alone {
			return
		}
		ordered++
		if err := overlapByCall(h); err != nil {
			t.Fatal(err)
		}
	})
	if ordered < 10 {
		t.Errorf("only %d histories were in order", ordered)
	}
}

// The error is the same however many goroutines look: the first operation that is not sound by itself, before any two
// that overlap.
func TestValidateByMany(t *testing.T) {
	h := make(History, 20)
	for i := range h {
		h[i] = Operation{Op: "acquire", Call: int64(2 * i), Return: int64(2*i + 1)}
	}
	h[3].Call = 0
	h[9].Op, h[15].Op = "wait", "wait"
	m := Lock()
	for goroutines := range 5 {
		for _, want := range []int{9, 15, 3, step.None} {
			_, err := m.validateBy(goroutines+1, h)
			if (err == nil) != (want == step.None) || err != nil && err.Index != want {
				t.Errorf("%d goroutines: %v, want operation %d from 0", goroutines+1, err, want)
			}
			if want != step.None {
				h[want].Op, h[want].Call = "acquire", int64(2*want)
			}
		}
		h[3].Call, h[9].Op, h[15].Op = 0, "wait", "wait"
	}
}

func TestValue(t *testing.T) {
	for v, want := range map[Value]string{
		Null: "null", Int(math.MinInt64): "-9223372036854775808", Str("null"): "null", Bool(true): "true",
	} {
		if v.String() != want {
			t.Errorf("%#v is %q, want %q", v, v.String(), want)
		}
	}
	if Null == Str("null") || Null == Int(0) || Null == Bool(false) || !Null.IsNull() || Int(0).IsNull() {
		t.Error("null is taken for something else")
	}
	if Int(7).Int() != 7 || Str("7").Int() != 0 || Bool(true).Int() != 0 {
		t.Error("Int does not return the number")
	}
}
