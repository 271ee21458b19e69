package longhistory_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/results/internal/longhistory"
)

func drawn(t *testing.T, cfg longhistory.Config) (linearizability.History, []byte) {
	t.Helper()
	var data bytes.Buffer
	if err := longhistory.Write(&data, cfg); err != nil {
		t.Fatal(err)
	}
	h, err := histories.Read(bytes.NewReader(data.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return h, data.Bytes()
}

// Histories are legal except for the planted violation, of the given length, in order of return, and reproducible.
func TestHistories(t *testing.T) {
	rules := map[string]string{"queue": "order", "lock": "exclusion"}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		cfg := longhistory.Config{Model: "queue", Operations: 500 + r.IntN(1500), Clients: 2 + r.IntN(30),
			Unknown: 0.03 * float64(r.IntN(2)), Seed: seed}
		if seed%2 == 1 {
			cfg.Model = "lock"
		} else if seed%4 == 2 {
			cfg.Peeks = 0.1
		}
		cfg.Planted, cfg.Texts = seed%3 == 0, seed%5 == 0
		h, data := drawn(t, cfg)
		if _, again := drawn(t, cfg); !bytes.Equal(data, again) {
			t.Fatalf("%+v: the second time it is another", cfg)
		}
		if len(h) != cfg.Operations {
			t.Errorf("%+v: %d operations", cfg, len(h))
		}
		m, err := linearizability.ByName(cfg.Model)
		if err != nil {
			t.Fatal(err)
		}
		v := linearizability.Check(m, h, linearizability.Options{})[0]
		switch {
		case !cfg.Planted && v.Outcome != linearizability.Ok:
			t.Errorf("%+v: %v", cfg, v)
		case cfg.Planted && (v.Outcome != linearizability.Violation || v.Property != rules[cfg.Model] ||
			len(v.Operations) > 6):
			t.Errorf("%+v: planted, and the verdict is %v", cfg, v)
		}
		streamed(t, m, h)
	}
}

// streamed feeds a history to a stream, as torture check --window does. No operation of known outcome is longer than
// the window.
func streamed(t *testing.T, m linearizability.Model, h linearizability.History) {
	t.Helper()
	s, err := linearizability.NewStream(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range h {
		if err := s.Add(op); err != nil {
			t.Fatal(err)
		}
		if op.Outcome == linearizability.OK {
			s.Advance(op.Return - longhistory.Window)
		}
	}
}

func TestUnfitConfigs(t *testing.T) {
	for _, cfg := range []longhistory.Config{{Model: "queue", Clients: 1}, {Model: "doublebarrier", Clients: 3}} {
		if err := longhistory.Write(&bytes.Buffer{}, cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
}

// The hard history is illegal, which can be shown for a small one.
func TestHard(t *testing.T) {
	var data bytes.Buffer
	if err := longhistory.WriteHard(&data, 2); err != nil {
		t.Fatal(err)
	}
	h, err := histories.Read(&data)
	if err != nil {
		t.Fatal(err)
	}
	v := linearizability.Check(linearizability.PriorityQueue(), h, linearizability.Options{})[0]
	if v.Outcome != linearizability.Violation {
		t.Error(v)
	}
}

// BenchmarkJudge reads and judges histories.
func BenchmarkJudge(b *testing.B) {
	const n = 100_000
	for name, c := range map[string]longhistory.Config{
		"numbers": {Model: "queue"}, "texts": {Model: "queue", Texts: true}, "lock": {Model: "lock"},
	} {
		b.Run(name, func(b *testing.B) {
			c.Operations, c.Clients, c.Unknown, c.Seed = n, 16, 0.01, 1
			var file bytes.Buffer
			if err := longhistory.Write(&file, c); err != nil {
				b.Fatal(err)
			}
			m, err := linearizability.ByName(c.Model)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				h, err := histories.Read(bytes.NewReader(file.Bytes()))
				if err != nil || len(h) != n {
					b.Fatal(len(h), err)
				}
				if v := linearizability.Check(m, h, linearizability.Options{}); v[0].Outcome != linearizability.Ok {
					b.Fatal(v[0])
				}
			}
		})
	}
}
