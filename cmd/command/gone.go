package command

import (
	"fmt"
	"strings"
)

// gone says of each command, or flag of a command, that the version before this one had what to use instead. It answers
// for one release.
var gone = map[string]string{
	"doctor":     "each command says what it needs and what to install",
	"trace":      "use explain FILE, or explain --html PAGE FILE",
	"completion": "complete file names; --help lists commands and flags",
	"coverage":   "use run --json: its field coverage says what was drawn",
	"part":       "units are run by campaign start, and on other machines by campaign work",
	"merge":      "campaign start puts results together, and campaign report says what was found",

	"check --txnlog":      "the tag before this release has it; check judges a history, or the folder of torture live --out",
	"check --lock":        "it went with --txnlog",
	"check --guards":      "it went with --txnlog",
	"check --clocks":      "it went with --txnlog",
	"check --stale-reads": "leave operations that may read an older state out of the history, or record a sync before them",
	"check --window":      "leave it out; cut a history that is too long where nobody holds or waits",
	"check --memory":      "limit the process, as by GOMEMLIMIT; --timeout bounds the time",

	"explain --parties": "use check --model doublebarrier --parties, with --html for the page",
	"explain --permits": "use check --model semaphore --permits, with --html for the page",
	"explain --timeout": "use check --timeout, with --html for the page",
	"explain --around":  "three operations around each that matters are shown",
	"explain --beside":  "explain both files, one after the other",

	"run --once":      "passing episodes are run twice and compared in exact mode",
	"run --no-shrink": "use --shrink-time 1ms",
	"run --coverage":  "use --json: its field coverage says what was drawn",
	"run --all":       "use explain FILE for each of the files that are listed",
	"run --summary":   "use --junit, which CI services show",
	"run --metrics":   "use --json when it has ended; a campaign serves /metrics",

	"live --rate":         "limit the traffic between the clients and your servers, as by tc",
	"live --faults-from":  "use --seed: the same seed draws the same faults",
	"live --print-faults": "--out writes the faults that struck to faults.jsonl",
	"live --patience":     "an operation counts as waiting for ever after ten seconds without faults",
	"live --ready":        "a worker has thirty seconds to be ready",
	"live --threshold":    "--out writes history.jsonl, whose call and return are nanoseconds",
	"live --all":          "use explain FILE for each of the files that are listed",
	"live --summary":      "use --junit, which CI services show",
	"live --metrics":      "--out writes history.jsonl while it runs",

	"campaign --out": "copy the folder report of the campaign's folder",

	"prove --episodes":    "use --runs",
	"prove --seed":        "nothing is drawn: equal bounds give equal executions",
	"prove --users":       "in what prove runs each client has one user; torture run draws two",
	"prove --plain":       "prove runs the simplest plan only; torture run draws others",
	"prove --checkpoint":  "a search that ended early has said how far it is complete; run it again with a larger --duration",
	"prove --certificate": "the last lines say the bound, and a hash over the executions: run prove again, and compare them",
	"prove --check":       "run prove again with the bound that was printed, and compare the hash",
	"prove --steps":       "run prove again with the bound that was printed, and compare the hash",
	"prove --all":         "use explain FILE for each of the files that are listed",
	"prove --summary":     "use --junit, which CI services show",
	"prove --metrics":     "use --json when it has ended",

	"new --own":     "docs/howto/own-kind.md has a kind of one's own; new has lock, queue, election, counter and registry",
	"scan --no-run": "the tests are written beside the code before they run; --episodes 1 runs them shortly",

	"zoo --demo":       "use run lock --recipe 'published/WriteLock, bugs: W1', and explain and replay what it finds",
	"zoo --no-pause":   "it went with --demo",
	"zoo --live":       "use --out DIR, and replay --live DIR/ID.json: real servers are asked what the simulated ones were asked",
	"zoo --duration":   "it went with --live",
	"zoo --confirm":    "use --out DIR, and replay --live DIR/ID.json",
	"zoo --fixed-seed": "--seed draws the episodes of the fixed versions, too",
	"zoo --junit":      "use --json",
	"zoo --summary":    "use --json",

	"serve --host":                     serveConfig("clientPortAddress"),
	"serve --tick":                     serveConfig("tickTime"),
	"serve --min-session-timeout":      serveConfig("minSessionTimeout"),
	"serve --max-session-timeout":      serveConfig("maxSessionTimeout"),
	"serve --sync-limit":               serveConfig("syncLimit"),
	"serve --max-client-cnxns":         serveConfig("maxClientCnxns"),
	"serve --jute-maxbuffer":           serveConfig("jute.maxbuffer"),
	"serve --container-check-interval": serveConfig("znode.container.checkIntervalMs"),
	"serve --ttl":                      serveConfig("extendedTypesEnabled"),
	"serve --super-digest":             serveConfig("DigestAuthenticationProvider.superDigest"),
	"serve --data":                     "servers for tests keep everything in memory; a real ZooKeeper has a dataDir",
	"serve --reconfig":                 "use a real ZooKeeper",
	"serve --read-only":                "use a real ZooKeeper",
	"serve --enforce-quota":            "use a real ZooKeeper",
	"serve --user":                     "use a real ZooKeeper; addauth digest is there",
	"serve --faults-from":              "use --seed: the same seed and requests draw the same faults",
	"serve --per-minute":               "use --every",

	"proxy --expose":     "forward the port by other means; --listen is of this machine with --tls-cert",
	"proxy --per-minute": "use --every",
	"proxy --metrics":    "--log writes a line for each fault that struck",
}

func serveConfig(setting string) string {
	return "write " + setting + "= into a file, and give that to --config"
}

// replaced returns the error of a command line that names what is gone, nil of others.
func replaced(args []string) error {
	if len(args) == 0 {
		return nil
	}
	if instead, there := gone[args[0]]; there {
		return fmt.Errorf("%s is no command any more: %s", args[0], instead)
	}
	for _, arg := range args[1:] {
		flag, _, _ := strings.Cut(arg, "=")
		if instead, there := gone[args[0]+" "+flag]; there {
			return fmt.Errorf("%s has no %s any more: %s", args[0], flag, instead)
		}
		if arg == "--" {
			break
		}
	}
	return nil
}
