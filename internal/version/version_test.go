package version

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	git := []debug.BuildSetting{{Key: "vcs.revision", Value: "3b54756"}, {Key: "vcs.time", Value: "2026-11-23T10:00:00Z"}}
	dirty := append(git[:2:2], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	build := runtime.Version() + "\nplatform: " + runtime.GOOS + "/" + runtime.GOARCH
	for _, c := range []struct {
		name, release, want string
		info                debug.BuildInfo
	}{
		{"installed", "", "torture v1.2.3\ngo: " + build,
			debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.2.3"}}},
		{"from a clone", "", "torture devel\ncommit: 3b54756\ndate: 2026-11-23T10:00:00Z\ngo: " + build,
			debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}, Settings: git}},
		{"modified", "", "torture devel\ncommit: 3b54756, modified\ndate: 2026-11-23T10:00:00Z\ngo: " + build,
			debug.BuildInfo{Main: debug.Module{Path: module}, Settings: dirty}},
		{"released", "v1.3.0", "torture v1.3.0\ncommit: 3b54756\ndate: 2026-11-23T10:00:00Z\ngo: " + build,
			debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.2.3"}, Settings: git}},
		{"nested module", "", "torture v1.2.3\ngo: " + build,
			debug.BuildInfo{Main: debug.Module{Path: module + "/torture-campaign", Version: "v1.2.3"}}},
		{"a user's program", "", "torture v1.2.3, of example.com/mine v0.1.0\ngo: " + build, debug.BuildInfo{
			Main: debug.Module{Path: "example.com/mine", Version: "v0.1.0"},
			Deps: []*debug.Module{{Path: "example.com/other", Version: "v9.0.0"}, {Path: module, Version: "v1.2.3"}}}},
		{"unknown", "", "torture devel\ngo: " + build, debug.BuildInfo{}},
	} {
		if got := text("torture", &c.info, c.release); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	if got := Text("torture"); !strings.HasPrefix(got, "torture ") || !strings.Contains(got, "\ngo: "+runtime.Version()) {
		t.Errorf("of this process: %s", got)
	}
}
