package linearizability

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Property: equal values have equal numbers, and new ones the next number, whatever size was expected.
func TestNumbering(t *testing.T) {
	value := rapid.OneOf(rapid.Custom(drawValue), rapid.Map(rapid.Int64Range(-1, 3000), Int),
		rapid.Map(rapid.StringMatching("[ab]{0,2}[0-9]{0,4}"), Str), rapid.Map(rapid.StringMatching("[0-9]{17,20}"), Str))
	sizes := []int{0, 1, 5, manyTexts, 10 * manyTexts}
	rapid.Check(t, func(t *rapid.T) {
		numbers, want := newNumbering(rapid.SampledFrom(sizes).Draw(t, "size")), map[Value]int32{}
		for _, v := range rapid.SliceOf(value).Draw(t, "values") {
			if _, known := want[v]; !known {
				want[v] = int32(len(want))
			}
			if got := numbers.number(v); got != want[v] {
				t.Fatalf("%v has the number %d, want %d", v, got, want[v])
			}
		}
	})
}

// Property: where the short way says that nothing overlaps the long way finds nothing either.
func TestOneByOne(t *testing.T) {
	ordered := 0
	operation := rapid.Custom(func(t *rapid.T) Operation {
		call := rapid.Int64Range(0, 9).Draw(t, "call")
		return Operation{Client: rapid.IntRange(0, 2).Draw(t, "client"), Call: call,
			Return:  call + rapid.Int64Range(0, 2).Draw(t, "takes"),
			Outcome: rapid.SampledFrom([]Outcome{OK, OK, Unknown}).Draw(t, "outcome")}
	})
	rapid.Check(t, func(t *rapid.T) {
		h := History(rapid.SliceOfN(operation, 0, 5).Draw(t, "history"))
		if !oneByOne(h) {
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

// A text that ends in a number is told from all that begin or end like it, whatever room there is for tables.
func TestNumberingOfTexts(t *testing.T) {
	texts := []string{"18446744073709551617"} // 1, but for what does not fit 64 bits
	for _, begin := range []string{"", "v", "v0", "v00", "w", "é"} {
		for i := range 2000 {
			number := strconv.Itoa(i)
			texts = append(texts, begin+number, number+begin, begin+number+begin)
		}
	}
	for _, size := range []int{0, manyTexts, 30 * manyTexts} {
		numbers, want := newNumbering(size), map[string]int32{}
		for _, text := range slices.Concat(texts, texts) {
			if _, known := want[text]; !known {
				want[text] = int32(len(want))
			}
			if got := numbers.number(Str(text)); got != want[text] {
				t.Fatalf("%d expected: %q has the number %d, want %d", size, text, got, want[text])
			}
		}
		room := numbers.room
		for _, t := range numbers.ending {
			room += len(*t)
		}
		if room != tableRoom*size || size > 0 && len(numbers.ending) != tablesMax {
			t.Errorf("%d expected: %d tables, all room is %d", size, len(numbers.ending), room)
		}
	}
}
