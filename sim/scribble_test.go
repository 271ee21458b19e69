package sim_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/sim/world"
)

// scribble is a workload of a few requests of each client. Nothing of it breaks a property.
type scribble [][]string

const scribbled = "/t/s"

func (s scribble) Name() string                       { return "scribble" }
func (s scribble) Recipe() string                     { return "custom" }
func (s scribble) Terms() (t world.Terms)             { return t }
func (s scribble) Plan(*world.Plan) world.Episode     { return s }
func (s scribble) Users() []int                       { return slices.Repeat([]int{1}, len(s)) }
func (s scribble) Parents() []string                  { return []string{scribbled} }
func (s scribble) MayWaitForever(*world.World) bool   { return false }
func (s scribble) Judge(*world.World) world.Judgement { return world.Judgement{} }

func (s scribble) Run(u *world.User) {
	for _, what := range s[u.Client] {
		_, op := u.Begin(what, "", true)
		result, err := scribbles[what](u)
		op.End(world.OK, result, err)
	}
}

// scribbles are what a user can do.
var scribbles = map[string]func(u *world.User) (string, error){
	"make": func(u *world.User) (string, error) {
		return u.Conn().Create(scribbled+"/a", nil, 0, zk.WorldACL(zk.PermAll))
	},
	"enlist": func(u *world.User) (string, error) {
		return u.Conn().Create(scribbled+"/e-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	},
	"remove": func(u *world.User) (string, error) { return "", u.Conn().Delete(scribbled+"/a", -1) },
	"list": func(u *world.User) (string, error) {
		names, _, err := u.Conn().Children(scribbled)
		return fmt.Sprint(len(names)), err
	},
	"await": func(u *world.User) (string, error) {
		_, _, events, err := u.Conn().ExistsW(scribbled + "/a")
		if err != nil {
			return "", err
		}
		return waited(events, 20*time.Millisecond), nil
	},
	"tell": func(u *world.User) (string, error) {
		u.Do("tell", func() string { return "" })
		return "", nil
	},
}

func waited(events <-chan zk.Event, d time.Duration) string {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case e := <-events:
		return e.Type.String()
	case <-timer.C:
		return "nothing"
	}
}

// moody is a scribble of whose executions every second one is shorter.
type moody struct {
	scribble
	times int
}

func (m *moody) Plan(*world.Plan) world.Episode {
	if m.times++; m.times%2 == 0 {
		return scribble{m.scribble[0][:1], m.scribble[1][:1]}
	}
	return m.scribble
}
