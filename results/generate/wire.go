package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// wireRequests and wireSeed are what is sent, unless ZKTORTURE_WIRE and ZKTORTURE_WIRE_SEED say otherwise.
const (
	wireRequests = "1000000"
	wireSeed     = "1"
)

// wireAnswers is how often a kind of request was answered.
type wireAnswers struct {
	Op              string
	Replies, Errors int
}

// measureWire compares the bytes of the fake with those of a real server.
func measureWire(ctx context.Context) (any, error) {
	requests, seed := cmp.Or(os.Getenv("ZKTORTURE_WIRE"), wireRequests), cmp.Or(os.Getenv("ZKTORTURE_WIRE_SEED"), wireSeed)
	cmd := exec.CommandContext(ctx, "go", "test", "./fakezk/conformance", "-run", "^TestWire$", "-count=1",
		"-timeout", "240m", "-v")
	cmd.Env = append(os.Environ(), "ZKTORTURE_WIRE="+requests, "ZKTORTURE_WIRE_SEED="+seed)
	out, err := cmd.CombinedOutput()
	sum, other := wireSum.FindSubmatch(out), wireOther.FindSubmatch(out)
	if err != nil || sum == nil || other == nil {
		return nil, fmt.Errorf("the servers differ, or were not compared: %w\n%s", err, out)
	}
	return facts{
		"Requests": atoi(sum[1]), "Seed": atoi(sum[2]), "Differ": atoi(sum[3]), "Rate": atoi(sum[4]),
		"Events": atoi(other[1]), "Ends": atoi(other[2]), "Answers": readWire(out),
	}, nil
}

// What the test says.
var (
	wireSum   = regexp.MustCompile(`(\d+) requests of seed (\d+): (\d+) disagreements, (\d+) requests a second`)
	wireOther = regexp.MustCompile(`(\d+) events, (\d+) ends of a connection`)
	wireLine  = regexp.MustCompile(`: ([a-zA-Z0-9 -]+): (\d+) replies, (\d+) errors`)
)

func readWire(out []byte) (all []wireAnswers) {
	for _, m := range wireLine.FindAllSubmatch(out, -1) {
		all = append(all, wireAnswers{string(m[1]), atoi(m[2]), atoi(m[3])})
	}
	return all
}

// atoi is for what a pattern has found to be digits.
func atoi(digits []byte) int {
	n, _ := strconv.Atoi(string(digits))
	return n
}
