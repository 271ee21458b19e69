package chaosproxy_test

import (
	"testing"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble/proxy/chaosproxy"
)

func TestRefuses(t *testing.T) {
	tell, all, a := func(strike.Strike) {}, strike.Faults(strike.OnProxy), []string{"a"}
	for name, cfg := range map[string]chaosproxy.Config{
		"nobody is told": {Servers: a, Faults: all, Every: 1},
		"no odds":        {Servers: a, Faults: all, Struck: tell},
		"negative":       {Servers: a, Faults: all, Struck: tell, Every: -1},
		"no servers":     {Faults: all, Struck: tell, Every: 1},
	} {
		if p, err := chaosproxy.New(cfg); err == nil {
			p.Close()
			t.Error("no error:", name)
		}
	}
}
