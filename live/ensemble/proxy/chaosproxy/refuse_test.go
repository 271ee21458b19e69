package chaosproxy_test

import (
	"math"
	"testing"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble/proxy/chaosproxy"
)

func TestRefuses(t *testing.T) {
	tell, all, a := func(strike.Strike) {}, strike.Faults(strike.OnProxy), []string{"a"}
	for name, cfg := range map[string]chaosproxy.Config{
		"nobody is told": {Servers: a, Faults: all, Odds: strike.Odds{Every: 1}},
		"no odds":        {Servers: a, Faults: all, Struck: tell},
		"both odds":      {Servers: a, Faults: all, Struck: tell, Odds: strike.Odds{Every: 1, PerMinute: 1}},
		"negative":       {Servers: a, Faults: all, Struck: tell, Odds: strike.Odds{Every: -1, PerMinute: 1}},
		"not a number":   {Servers: a, Faults: all, Struck: tell, Odds: strike.Odds{PerMinute: math.NaN()}},
		"no servers":     {Faults: all, Struck: tell, Odds: strike.Odds{Every: 1}},
	} {
		if p, err := chaosproxy.New(cfg); err == nil {
			p.Close()
			t.Error("no error:", name)
		}
	}
}
