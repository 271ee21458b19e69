// Package failures records the failures that campaigns find, and tells from night to night what became of each.
//
// # The model
//
// A failure is a property and the shape of the minimal story ([campaign.Identify]). It probably is one mistake,
// whichever recipes make it and whichever test finds it. A night is one campaign. The store is a folder. Files are
// added to it and never changed:
//
//	counterexamples/SHA256.json       as torture replay reads it; the name is the digest of the content
//	nights/20260131T220000Z-….json    what one campaign ran and saw, and nothing of other nights
//
// So git or an object store can hold the store, two machines can write to it at the same time, and two stores are
// merged by copying files. Everything else, such as what is new, is computed from the nights, in the order of the times
// at which they began. The caller passes the time ([Meta]); the package reads no clock.
//
// # What became of a failure
//
// Each failure has a state in each recipe in which it was ever seen. It is seen if a job finds it, or if one of its
// counterexamples is run again and breaks. The first row that fits counts:
//
//	this night                                                     before        now
//	seen                                                           never seen    new
//	seen                                                           gone          come back
//	seen                                                           else          ongoing
//	not seen                                                       gone          gone
//	not seen, its counterexample no longer breaks, well searched     else          gone
//	not seen, its counterexample no longer breaks                    else          changed
//	not seen                                                       else          not seen
//
// "Its counterexample no longer breaks" means: a counterexample from the last night that saw the failure has since been
// run again, and nothing broke. That alone proves little. When a recipe changes its choices change their meaning, so
// the mistake may be fixed, or the run may be a different one. A search is needed, too.
//
// "Well searched" means: since the failure was last seen, a search should have seen it at least three times. The
// expected number is a rate times a number of episodes: the lowest share of episodes in which a strategy ever found the
// failure, and the episodes that jobs of that strategy have run since. A search that expects three misses the failure
// by chance once in twenty. A complete search of all executions is enough by itself if such a search found the failure
// before.
//
// A job counts as a search for a failure if all of these hold:
//
//   - it runs the same recipe, with a strategy that has found the failure before;
//   - it has at least the faults, clients and operations of the job that found it, and is as exact and as close to the
//     wire;
//   - it judges the property, and its verdict is not unknown;
//   - it found no other failure of the same property, because a job reports only one for each property.
//
// A failure that was seen in several recipes is gone if it is gone from all of them, and new if no recipe had it
// before. If it is new in one recipe only, the failure is not new, but the recipe is news ([Failure.News]).
//
// Failures of the zoo's animals are expected, and kept separate. If a recipe outside of the zoo breaks in the same way,
// that is new, and [Failure.Like] names the animals. Counterexamples of animals are not run again, so for them a search
// is enough to be gone. That is bad news: the campaign no longer finds a known bug.
//
// # What is run again
//
// [Store.Known] chooses the counterexamples that the next campaign runs first. They are a regression suite that grows
// by itself, with at most [PerRecipe] for each failure and recipe. The counterexample with which a failure was new is
// always among them; strategy near begins with it. The counterexamples that are left out are reported.
//
// # What is wrong with a file
//
// A file does not count if it is damaged, incomplete, of another format, or not of this store. [Night.Problems] names
// it and says what to do. Nothing is ever deleted. If a campaign was recorded twice with different content, the file
// whose name sorts first counts. A missing counterexample is reported when it should be run again; to get it back,
// record its campaign again.
//
// # How well failures are told apart
//
// 129 animals of the zoo were hunted with six seeds each, and their 774 smallest stories identified. There are 105
// identities. An animal has 1.19 on average, and 125 animals have one or two. Two seeds of one animal differ in 6.3 %
// of the pairs. Of 76 pairs of animals that make the same mistake in several recipes 42 share an identity; of 718 other
// pairs that break the same property 37 do, two of them within one recipe.
//
// Two other identities were measured. With only the property and the faults it would be 15.6 %, and 51 and 183 pairs;
// with every request 27.9 %, and 7 and 1. In campaigns of 2,000 episodes, which find more and rarer properties of an
// animal, 11.1 % of the pairs of seeds differ. So a new failure may be a known one with another story. To find out, run
// the known counterexample again. results/identities.md has all these figures except those of the campaigns.
package failures
