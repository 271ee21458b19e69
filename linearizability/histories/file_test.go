package histories

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	lin "github.com/zktorture/zktorture/linearizability"
)

func drawValue(t *rapid.T) lin.Value {
	return rapid.OneOf(
		rapid.Just(lin.Null), rapid.Just(lin.Bool(true)), rapid.Just(lin.Bool(false)),
		rapid.Map(rapid.Int64(), lin.Int), rapid.Map(rapid.String(), lin.Str),
	).Draw(t, "value")
}

func drawOperation(t *rapid.T) lin.Operation {
	return lin.Operation{
		Client: rapid.Int().Draw(t, "client"), Op: rapid.String().Draw(t, "op"),
		Arg: drawValue(t), Result: drawValue(t), Outcome: rapid.SampledFrom([]lin.Outcome{lin.OK, lin.Fail, lin.Unknown}).Draw(t,
			"outcome"),
		Call: rapid.Int64().Draw(t, "call"), Return: rapid.OneOf(rapid.Just(lin.Forever), rapid.Int64()).Draw(t, "return"),
		Object: rapid.String().Draw(t, "object"), Note: rapid.String().Draw(t, "note"), Process: drawValue(t),
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := lin.History(rapid.SliceOf(rapid.Custom(drawOperation)).Draw(t, "history"))
		var file bytes.Buffer
		if err := Write(&file, h); err != nil {
			t.Fatal(err)
		}
		text := file.String()
		got, err := Read(&file)
		if err != nil || !slices.Equal(got, h) {
			t.Fatalf("read %v, %v; want %v", got, err, h)
		}
		for i, line := range slices.Collect(strings.Lines(text)) {
			var op lin.Operation
			if err := json.Unmarshal([]byte(line), &op); err != nil || op != h[i] {
				t.Fatalf("%q as JSON is %v, %v", line, op, err)
			}
			if again, err := json.Marshal(op); err != nil || !json.Valid(again) {
				t.Fatalf("%v as JSON is %s, %v", op, again, err)
			}
		}
	})
}

// operations are of all outcomes.
var operations = lin.History{
	{Client: 3, Op: "poll", Result: lin.Str("v17"), Call: 1041, Return: 1077},
	{Client: 1, Op: "offer", Arg: lin.Str("<v18>"), Outcome: lin.Unknown, Call: 1050, Return: lin.Forever},
	{Client: 2, Op: "acquire", Result: lin.Int(-7), Outcome: lin.Fail, Object: "/lock", Note: "no node", Process: lin.Int(0)},
}

// TestFileFormat holds the format to the letter: other programs write it too.
func TestFileFormat(t *testing.T) {
	const file = `{"client":3,"op":"poll","arg":null,"result":"v17","outcome":"ok","call":1041,"return":1077}
{"client":1,"op":"offer","arg":"<v18>","result":null,"outcome":"unknown","call":1050,"return":null}
{"client":2,"op":"acquire","arg":null,"result":-7,"outcome":"fail","call":0,"return":0,"object":"/lock","note":"no node","process":0}
`
	got, err := Read(strings.NewReader(file))
	if err != nil || !slices.Equal(got, operations) {
		t.Fatalf("read %v, %v; want %v", got, err, operations)
	}
	var written strings.Builder
	if err := Write(&written, operations); err != nil || written.String() != file {
		t.Errorf("wrote %s, %v; want %s", written.String(), err, file)
	}
	loose := "\n  {\"return\":2,\"call\":1,\"outcome\":\"ok\",\"op\":\"release\",\"client\":4} \r\n\n"
	got, err = Read(strings.NewReader(loose))
	if want := (lin.History{{Client: 4, Op: "release", Call: 1, Return: 2}}); err != nil || !slices.Equal(got, want) {
		t.Errorf("read %v, %v; want %v", got, err, want)
	}
}

func TestBadFiles(t *testing.T) {
	const good = `{"client":3,"op":"poll","outcome":"ok","call":1,"return":2}`
	for _, c := range []struct{ name, line, want string }{
		{"cut off", good[:30], "line 2: the file ends in the middle of an operation"},
		{"cut off and more follows", good[:30] + "\n" + good, "line 2: the operation is cut off"},
		{"not JSON", "client 1 poll", "line 2: not JSON at byte 1"},
		{"a list", "[" + good + "]", "line 2: "},
		{"two on a line", good + good, "line 2: there is more after the operation; write one operation a line"},
		{"another harness", `{"type":"invoke","f":"read","value":null,"process":0,"time":1}`,
			`line 2: an operation has no field "type"`},
		{"empty object", `{}`, `line 2: "client" is missing`},
		{"null", `null`, `line 2: "client" is missing`},
		{"no return", `{"client":3,"op":"poll","outcome":"ok","call":1}`, `line 2: "return" is missing`},
		{"misspelt", `{"client":3,"op":"poll","outcome":"ok","call":1,"return":2,"reslt":7}`,
			`line 2: an operation has no field "reslt"`},
		{"outcome", `{"client":3,"op":"poll","outcome":"info","call":1,"return":2}`,
			`line 2: outcome "info" does not exist; write ok, fail or unknown`},
		{"return", `{"client":3,"op":"poll","outcome":"ok","call":1,"return":"2"}`,
			`line 2: "return" is "2"; write a whole number or null`},
		{"call", `{"client":3,"op":"poll","outcome":"ok","call":"1","return":2}`,
			`line 2: "call" cannot be a JSON string`},
		{"fraction", `{"client":3,"op":"poll","result":1.5,"outcome":"ok","call":1,"return":2}`,
			"line 2: 1.5 is not a whole number of 64 bits"},
		{"structure", `{"client":3,"op":"poll","result":{"a":1},"outcome":"ok","call":1,"return":2}`,
			`line 2: {"a":1} is not a value`},
		{"bytes that are no text", `{"client":3,"op":"poll","result":"` + "\xff" +
			`","outcome":"ok","call":1,"return":2}`, "line 2: not valid UTF-8 at byte 35"},
		{"half a pair", `{"client":3,"op":"poll","result":"\ud800","outcome":"ok","call":1,"return":2}`,
			`line 2: \ud800 is half of a surrogate pair`},
		{"the other half",
			`{"client":3,"op":"poll","result":"\udbff\ud801\udc00","outcome":"ok","call":1,"return":2}`,
			`line 2: \udbff is half of a surrogate pair`},
		{"half a pair alone", `{"client":3,"op":"poll","outcome":"ok","call":1,"return":2,"note":"\\\uDC00x"}`,
			`line 2: \uDC00 is half of a surrogate pair`},
		{"twice", `{"client":3,"op":"poll","outcome":"ok","outcome":"fail","call":1,"return":2}`,
			`line 2: the field "outcome" is there twice`},
		{"twice, in disguise", `{"client":3,"op":"poll","outcome":"ok","call":1,"c\u0061ll":1,"return":2}`,
			`line 2: the field "call" is there twice`},
		{"another case", `{"Client":3,"op":"poll","outcome":"ok","call":1,"return":2}`,
			`line 2: an operation has no field "Client"; it is written "client"`},
		{"long", `{"note":"` + strings.Repeat("x", lineMax) + `"}`, "line 2: longer than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := good + "\n" + c.line
			h, err := Read(strings.NewReader(file))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || len(h) != 1 {
				t.Errorf("read %v, %v; want the first operation, and an error that starts with %q", h, err, c.want)
			}
			if truncated := c.name == "cut off"; errors.Is(err, errTruncated) != truncated {
				t.Errorf("%v is errTruncated: %v", err, !truncated)
			}
		})
	}
	broken := errors.New("the disk is gone")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %v", err, broken)
	}
}

// TestKilledWriter cuts a file at every byte: what was completely written can be read.
func TestKilledWriter(t *testing.T) {
	var file bytes.Buffer
	if err := Write(&file, operations); err != nil {
		t.Fatal(err)
	}
	for n := range file.Len() {
		cut := file.Bytes()[:n]
		complete := bytes.Count(cut, []byte("\n"))
		got, err := Read(bytes.NewReader(cut))
		if rest := cut[bytes.LastIndexByte(cut, '\n')+1:]; json.Valid(rest) {
			complete++ // only the end of the line is missing
		} else if len(rest) > 0 && !errors.Is(err, errTruncated) {
			t.Fatalf("cut at byte %d: the error is %v", n, err)
		}
		if !slices.Equal(got, operations[:complete]) {
			t.Fatalf("cut at byte %d: read %v, want %v", n, got, operations[:complete])
		}
	}
}

// Surrogate pairs are characters like others, and an escaped backslash begins no escape.
func TestEscapesAreRead(t *testing.T) {
	const line = `{"client":3,"op":"poll","result":"\ud83d\ude00\\ud800é","outcome":"ok","call":1,"return":2}`
	h, err := Read(strings.NewReader(line))
	if err != nil || h[0].Result != lin.Str("😀\\ud800é") {
		t.Errorf("read %v, %v", h, err)
	}
}

func TestWriteRefusesWhatJSONCannotHold(t *testing.T) {
	err := Write(&bytes.Buffer{}, lin.History{{Op: "poll", Return: 1}, {Op: "offer", Arg: lin.Str("\xff"), Return: 3}})
	if err == nil || !strings.Contains(err.Error(), "operation 2") || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("the error is %v", err)
	}
	if err := Write(&bytes.Buffer{}, lin.History{{Outcome: 7}}); err == nil || !strings.Contains(err.Error(), "outcome 7") {
		t.Errorf("the error is %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"client":3,"op":"poll","arg":null,"result":"v17","outcome":"ok","call":1041,"return":1077}`))
	f.Add([]byte(`{"client":1,"op":"offer","arg":true,"outcome":"unknown","call":-1,"return":null,"process":1}` +
		"\n{"))
	f.Add([]byte("\n[]\nnull"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Read(bytes.NewReader(data))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Fatalf("read %v, %v", h, err)
			}
			return
		}
		var file bytes.Buffer
		if err := Write(&file, h); err != nil {
			t.Fatal(err)
		}
		if again, err := Read(&file); err != nil || !slices.Equal(again, h) {
			t.Fatalf("read %v, wrote it, and read %v, %v", h, again, err)
		}
		for _, m := range []lin.Model{lin.Lock(), lin.Queue()} {
			if len(h) < 10 {
				lin.Check(m, h, 0)
			}
		}
	})
}
