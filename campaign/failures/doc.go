// Package failures remembers what campaigns have seen, from night to night.
//
// # The model
//
// A failure is what is likely one mistake, whichever recipes make it and whichever test finds it: a property and the
// shape of the minimal story ([campaign.Identify]). A night is one campaign. The store is a folder to which files are
// added, and in which none ever changes:
//
//	counterexamples/SHA256.json       as torture replay reads it; the name is the digest of the content
//	nights/20260131T220000Z-….json    what one campaign has run and seen, and nothing of other nights
//
// So git or an object store can hold it, two machines can write to it at the same time, and two stores are put together
// by copying files. All else, as what is new, is computed by reading the nights in the order of the times at which they
// began. Time comes from outside ([Meta]); the package looks at no clock.
//
// # What became of a failure
//
// Each failure has a state in each recipe in which it was ever seen. It is seen if a job finds it, or if one of its
// counterexamples is run again and breaks. The rows are tried from the top:
//
//	this night                                                     before        now
//	seen                                                           never seen    new
//	seen                                                           gone          come back
//	seen                                                           else          ongoing
//	not seen                                                       gone          gone
//	not seen, its counterexample breaks no more, well searched     else          gone
//	not seen, its counterexample breaks no more                    else          changed
//	not seen                                                       else          not seen
//
// Its counterexample breaks no more if, since it was last seen, one of those with which it was seen then was run again
// and nothing broke. That alone says little, as choices mean something else once a recipe has changed: a mistake can be
// fixed, or its run be another. So a search has to say it, too. It is well searched if, since it was last seen, at
// least three sightings were to be expected: the share of the episodes of a job that broke its property when it was
// found by a strategy, the least ever, times the episodes of jobs of that strategy. Then it would be missed by chance
// in one case of twenty. A search of all executions that comes to its end is enough by itself if one has found the
// failure before.
//
// A job looks for a failure if it is of the same recipe, by a strategy that has found it before, with the faults,
// clients and operations of that job at least, and as exact and as close to the wire; if it judges the property; if its
// verdict is not unknown; and if it has not found another failure of the same property, as it tells one of each
// property only.
//
// In several recipes a failure is gone if it is gone from all, and new if it was never seen before in any. A recipe in
// which it is new is news ([Failure.News]) even if the failure is not.
//
// What animals of the zoo break is expected, and kept apart: if a recipe that is not of the zoo breaks the same way,
// that is new, and [Failure.Like] names the animals, whose mistakes are known. Counterexamples of animals are not run
// again, so that a search suffices for them to be gone. That is no good news: the campaign has become blind to them.
//
// # What is run again
//
// [Store.Known] chooses the counterexamples that the next campaign runs first: a suite of regressions that grows by
// itself, but by [PerRecipe] for each failure and recipe at most. The counterexample with which a failure was new stays
// among them; strategy near begins with it. What is left out is told.
//
// # What is wrong with a file
//
// A file that is damaged, was not written to its end, is of another format or not of the store does not count. It is
// named in [Night.Problems] with what to do about it, and nothing is ever deleted. Of a campaign that was recorded
// twice, and not equally, the file that comes first by its name counts. A counterexample that is missing is told where
// it would be run again; recording its campaign again brings it back.
//
// # How well failures are told apart
//
// 129 animals of the zoo were hunted with six seeds each, and their 774 smallest stories identified: there are 105
// identities, 1.19 of an animal in the mean, one or two of 125 animals, and two seeds of one animal differ in 6.3 % of
// the pairs. Of 76 pairs of animals that make the same mistake in several recipes 42 share one, and of 718 other pairs
// that break the same property 37, two of them of one recipe. By the property with the faults alone it would be 15.6 %,
// and 51 and 183 pairs; with every request 27.9 %, and 7 and 1. In campaigns of 2,000 episodes, which find more of the
// properties that an animal breaks, and rarer ones, 11.1 % of the pairs of seeds differ. So a new failure may be one
// that is known by another story; its counterexample that is run again tells. results/identities.md has all of it but
// the campaigns.
package failures
