// Package page shows a campaign to people: as a line in the terminal, as a live page, as metrics, and, once it has
// ended, as a static page, JUnit XML and Markdown. [Outcome.Judge] says how it stands.
//
// # Red
//
// A campaign that found nothing may have looked at nothing. So [Outcome.Judge] does not only count what broke. A
// campaign is red if it ran nothing, if no result has come for twice as long as a unit may take, if nobody works for
// it, if a unit that was done twice gave two results, if its coordinator has a problem such as a full disk, or if its
// canary was not found at its known rate. The canary is an animal of the zoo, a recipe that is broken in a known share
// of the episodes ([zoo.Animal.Rate]); it is found or missed by the whole chain: plan, worker, simulator, judge, report.
//
// Other animals have no known rate. One that was not found is listed, and makes nothing red.
//
// # Untrusted text
//
// Messages, stories and names come from recipes and workers. They are escaped where they are shown: for HTML, XML and
// Markdown, and characters that steer a terminal or turn a line around everywhere.
package page
