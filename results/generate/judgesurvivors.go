package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// classOf returns the class of an operation, by role. Operations of a class are corrupted alike.
func classOf(op string) string {
	switch role := operations.Of(op).Role; role {
	case operations.Downgrade:
		return string(operations.Release)
	default:
		return string(role)
	}
}

// reasons say why a corruption may give a legal history.
var reasons = map[corruptionKind]string{
	{"drop", "grant"}:   "the hold lasted to the end, or a release of unknown outcome ended it, which needs no hold",
	{"drop", "release"}: "nobody was granted anything afterwards for which it had to be over",
	{"drop", "offer"}:   "nobody saw the value",
	{"drop", "removal"}: "a removal of unknown outcome may have taken the value",
	{"drop", "add"}:     "an addition of unknown outcome stands for it, or nobody was told a number afterwards",
	{"drop", "enter"}:   "nobody needed it: enough others were there, or none entered with it",
	{"drop", "leave"}:   "nobody had to wait for it: no leave ended afterwards, or the process had entered again",
	{"drop", "shut"}:    "a gate that is not shut lets everybody through",
	{"drop", "open"}:    "nobody got through afterwards, or another may have opened it",

	{"duplicate", "grant"}: "there was room for one more, and readers need no token of their own",
	{"duplicate", "release"}: "it comes after a release of unknown outcome, as a retry does; " +
		"or it ends the hold of a lost grant",
	{"duplicate", "add"}:   "something was taken away in between, so that the same sum came up again",
	{"duplicate", "enter"}: "enough others were there at that moment, and none left afterwards",
	{"duplicate", "leave"}: "nobody was inside: who has left may leave again",
	{"duplicate", "shut"}:  "nobody got through afterwards, or somebody may have opened it",
	{"duplicate", "open"}:  "it was open, or is opened a little earlier or once more",

	{"stretch", "grant"}:   "there was room then too, and no token in between",
	{"stretch", "release"}: "nobody was granted anything in between for which it had to be over",
	{"stretch", "offer"}:   "nobody saw the value, or another that came later, before",
	{"stretch", "removal"}: "the queue was, or may have been, empty then too; " +
		"or nobody saw in between whether the value was there",
	{"stretch", "read"}:  "what it saw was true then too",
	{"stretch", "add"}:   "what came in between has an unknown outcome or may come later",
	{"stretch", "enter"}: "enough were there then too, and nobody needed it before",
	{"stretch", "leave"}: "nobody was inside then either, and nobody had to wait for it",
	{"stretch", "shut"}:  "nobody got through afterwards, or the gate was opened all the same",
	{"stretch", "open"}:  "nobody got through in between, or the gate was open",
	{"stretch", "wait"}:  "the gate was open then too",

	{"rush", "grant"}:   "there was room before too, and no token in between",
	{"rush", "release"}: "its hold had begun already, and nobody needed it longer; or it may be a retry",
	{"rush", "offer"}:   "no value between the two came out, or not in an order that tells",
	{"rush", "removal"}: "the queue was, or may have been, empty before too; or the value was there and at its head",
	{"rush", "read"}:    "what it saw was true before too",
	{"rush", "add"}:     "what came in between has an unknown outcome or may come later",
	{"rush", "enter"}:   "enough were there before too",
	{"rush", "leave"}:   "nobody was inside before either",
	{"rush", "shut"}:    "nobody got through in between, or the gate was opened all the same",
	{"rush", "open"}:    "it was open before, or nobody got through while it would have been shut",
	{"rush", "wait"}:    "the gate was open before too",

	{"swap", "grant"}:   "both ran at one time, or were readers: either token may have been the first",
	{"swap", "removal"}: "both ran at one time: either may have come first",
	{"swap", "read"}:    "both ran at one time, or the head changed in between by what has an unknown outcome",
	{"swap", "add"}:     "both ran at one time and added the same",
}

// survivor is a kind of corruptions some of which are legal.
type survivor struct {
	corruptionKind
	*trial
	Reason string
}

// survivors lists the kinds of legal corruptions with their reasons. A kind without a known reason is an error.
func survivors(total *trial) (all []survivor, problem error) {
	for k, t := range total.Kinds {
		if t.Legal() > 0 {
			all = append(all, survivor{k, t, reasons[k]})
		}
		if t.Legal() > 0 && reasons[k] == "" {
			problem = fmt.Errorf("%w: a %s of %s can be legal, and no reason is known", errUnexpected, k.Kind, k.Class)
		}
	}
	slices.SortFunc(all,
		func(a, b survivor) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Class, b.Class)) })
	return all, problem
}
