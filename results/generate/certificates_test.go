package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/prove"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Small searches of each kind come to their ends and find nothing, their certificates hold, and a page says so.
func TestSmallCertificates(t *testing.T) {
	testkit.ManyWorlds(t)
	var rows []certification
	for _, kind := range []string{"lock", "counter", "barrier", "queue"} {
		s := searches{kind: kind, recipe: workload.Ours, clients: 2, ops: 1}
		row, err := s.search(t.Context(), world.NoFaults, searchMax)
		if err != nil || row.Word != tally.Complete || row.Verdict != sim.VerdictOK {
			t.Errorf("%s: %v, %v", kind, row.Extent, err)
		}
		rows = append(rows, row)
	}
	for _, faults := range []world.Faults{world.Quorum, world.Deposed} {
		s := searches{kind: "counter", recipe: workload.Ours, clients: 2, ops: 1}
		row, err := s.search(t.Context(), faults, searchMax)
		if err != nil || row.Word != tally.Complete || row.Verdict != sim.VerdictOK {
			t.Errorf("%v: %v, %v", faults, row.Extent, err)
		}
		rows = append(rows, row)
	}
	text, err := fill("certificates", facts{"Rows": rows, "Reductions": prove.Texts(prove.AllReductions),
		"NotCovered": prove.NotCovered, "Most": searchMax})
	if err != nil || strings.Count(text, "COMPLETE |") != len(rows) {
		t.Errorf("%s, %v", text, err)
	}
}

// A certificate that was made here holds; one that says something else is refuted, and one that was changed is none.
func TestCertificate(t *testing.T) {
	testkit.ManyWorlds(t)
	w, err := workload.Find("counter", workload.Ours)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Strategy: sim.Exhaustive, Faults: world.Loss, AtMost: 1, Plain: true}
	r, err := sim.Run(t.Context(), w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := prove.Certify(cfg, r)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := certificate.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := prove.ReadCertificate(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read.Check(t.Context(), w, 0, nil); err != nil {
		t.Error(err)
	}
	forged := *read
	forged.Digest = "0000000000000001"
	if _, err := forged.Check(t.Context(), w, 0, nil); !errors.Is(err, prove.ErrRefuted) {
		t.Errorf("a forged digest: %v", err)
	}
	for _, change := range [][2]string{{`"ends": `, `"ends": 1`}, {`"at_most": 1`, `"at_most": 2`}, {`{`, `{"more": 1,`}, {"}\n", "}{}\n"}} {
		altered := strings.Replace(file.String(), change[0], change[1], 1)
		if _, err := prove.ReadCertificate(strings.NewReader(altered)); err == nil {
			t.Errorf("altered by %v, and read", change)
		}
	}
	for what, forge := range map[string]func(c *prove.Certificate){
		"of another program": func(c *prove.Certificate) { c.Build = "another" },
		"of no client":       func(c *prove.Certificate) { c.Clients = 0 },
		"of many clients":    func(c *prove.Certificate) { c.Clients = 1_000_000 },
		"of no user":         func(c *prove.Certificate) { c.Users = 0 },
		"of less than none":  func(c *prove.Certificate) { c.Ops = -1 },
		"of a violation":     func(c *prove.Certificate) { c.Verdict = sim.VerdictViolation },
		"of some executions": func(c *prove.Certificate) { c.Extent = tally.Bounded },
		"without reductions": func(c *prove.Certificate) { c.Reductions = nil },
		"of everything":      func(c *prove.Certificate) { c.NotCovered = nil },
	} {
		forged = *read
		forge(&forged)
		_, err := forged.Check(t.Context(), w, 0, nil)
		if _, claims := forged.Claim(); claims == nil || err == nil || errors.Is(err, prove.ErrRefuted) {
			t.Errorf("%s: %v, by its steps %v", what, err, claims)
		}
	}
	if _, err := prove.Certify(cfg, sim.Result{Verdict: sim.VerdictOK}); err == nil {
		t.Error("a sample was certified")
	}
}
