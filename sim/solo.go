package sim

import "github.com/zktorture/zktorture/fakezk"

// solo runs episodes one after the other, and notices when a world stands still.
type solo struct {
	workload Workload
	servers  *fakezk.Ensemble
	crash    *crashFile
	frozen   error // why the last world that stood still did
}

func newSolo(w Workload, cfg Config) *solo {
	return &solo{workload: w, servers: fakezk.New(fakezk.Config{}), crash: newCrashFile(w, cfg)}
}

// run runs an episode. It returns an outcome of which nothing is known if the world stands still, which is
// left behind with what it needs.
func (s *solo) run(cfg *episodeConfig) *outcome {
	cfg.servers, cfg.crash = s.servers, s.crash
	o, err := runWatched(s.workload, cfg)
	if err != nil {
		s.crash.end(false)
		s.servers, s.crash, s.frozen = fakezk.New(fakezk.Config{}), nil, err
		return &outcome{}
	}
	return o
}

func (s *solo) end() { s.crash.end(true) }
