package serving

import (
	"slices"
	"strings"
	"testing"
)

func TestZooCfg(t *testing.T) {
	s, err := readZooCfg(strings.NewReader("# a comment\ntickTime = 500\n\ndataDir=/var/lib/zookeeper\nmaxClientCnxns=0\n" +
		"server.1=a:2888:3888\nclientPortAddress=0.0.0.0\nextendedTypesEnabled=true\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.ensemble.Tick != 500 || s.maxClientCnxns != 0 || s.host != "0.0.0.0" || !s.ensemble.TTL || s.ensemble.SyncLimit != 5 {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(s.ignored, []string{"dataDir", "server.1"}) {
		t.Errorf("ignored are %q", s.ignored)
	}
	for text, want := range map[string]string{
		"tickTime":                 `line 1: "tickTime" is no setting`,
		"\ntickTime=2s":            "line 2: tickTime=2s: a whole number",
		"minSessionTimeout=100000": "less than the shortest",
		"tickTime=100000\nmaxSessionTimeout=100000": "less than the shortest",
		"tickTime=2000000000":                       "at most",
	} {
		if _, err := readZooCfg(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
