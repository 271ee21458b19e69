package sim

import (
	"errors"
	"fmt"

	"github.com/zktorture/zktorture/fakezk"
)

// solo runs episodes one after the other, and notices when a world stands still.
type solo struct {
	workload Workload
	servers  *fakezk.Ensemble
	memory   *memory
	crash    *crashFile
	frozen   error // why the last world that stood still did
}

func newSolo(w Workload, cfg Config) *solo {
	return &solo{workload: w, servers: fakezk.New(fakezk.Config{}), memory: newMemory(), crash: newCrashFile(w, cfg)}
}

// run runs an episode. A world that stands still is left behind with its servers, and the outcome is empty.
func (s *solo) run(cfg *episodeConfig) *outcome {
	cfg.servers, cfg.memory, cfg.dog = s.servers, s.memory, &watchdog{crash: s.crash}
	var o *outcome
	done := make(chan struct{})
	go func() {
		defer close(done) // also when testing ends the goroutine, as it does after a report of the race detector
		o = runEpisode(s.workload, cfg)
	}()
	if why := watch(done, func() {}, func() {}, cfg.dog); why != "" {
		s.crash.end(false)
		s.servers, s.memory, s.crash = fakezk.New(fakezk.Config{}), newMemory(), nil
		s.frozen = fmt.Errorf("%w: %s", ErrFrozen, why)
		return &outcome{}
	}
	if o == nil {
		cfg.dog.abandon()
		s.frozen = errors.New(episodeCut)
		return &outcome{}
	}
	return o
}

func (s *solo) end() { s.crash.end(true) }
