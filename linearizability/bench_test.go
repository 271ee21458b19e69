package linearizability

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// simulated returns a legal history of n operations by the given number of clients, each
// widened at random around the instant at which it took effect.
func simulated(model string, seed uint64, n, clients int) History {
	random := rand.New(rand.NewPCG(seed, 0))
	var h History
	busy := make([]int64, clients)
	holder, token, head, tail := -1, int64(0), int64(0), int64(0)
	for instant := int64(10); len(h) < n; instant += 4 {
		client := random.IntN(clients)
		if busy[client] > instant {
			continue
		}
		op := Operation{Client: client}
		switch {
		case model == "lock" && holder == client:
			op.Op, holder = "release", -1
		case model == "lock" && holder >= 0:
			continue
		case model == "lock":
			token++
			op.Op, op.Result, holder = "acquire", Int(token), client
		case random.IntN(2) == 0:
			tail++
			op.Op, op.Arg = "offer", Int(tail)
		case head < tail:
			head++
			op.Op, op.Result = "poll", Int(head)
		default:
			op.Op = "poll"
		}
		op.Call, op.Return = max(busy[client], instant-random.Int64N(10)), instant+random.Int64N(10)
		if random.IntN(20) == 0 {
			op.Outcome, op.Return = Unknown, Forever
		}
		busy[client] = op.Return
		if op.Return == Forever {
			busy[client] = instant + 1
		}
		h = append(h, op)
	}
	return h
}

func BenchmarkCheck(b *testing.B) {
	for _, name := range []string{"lock", "queue"} {
		m, err := ByName(name)
		if err != nil {
			b.Fatal(err)
		}
		for _, size := range map[string][]int{"lock": {6, 15, 1000}, "queue": {6, 15, 50}}[name] {
			var histories []History
			for seed := range uint64(100) {
				histories = append(histories, simulated(name, seed, size, 3))
			}
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					if v := Check(m, histories[i%100], Options{}); v[0].Outcome != Ok {
						b.Fatal(v[0])
					}
				}
			})
			b.Run(fmt.Sprintf("%s/%d/porcupine", name, size), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					if r := newJudge(&m, Options{}).ask(m.steps(histories[i%100])); r != "Ok" {
						b.Fatal(r)
					}
				}
			})
		}
	}
}
