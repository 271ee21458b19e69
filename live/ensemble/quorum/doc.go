// Package quorum reads what a leader tells a follower, and can hold it back from some transaction on.
//
// A follower connects to its leader's quorum port, is brought up to date, and then hears of each transaction twice: a
// PROPOSAL, which it logs and acknowledges, and, once a majority has, a COMMIT, upon which it applies it and its
// clients see it (ZooKeeper's Leader, LearnerHandler and Follower; 3.8). Proposals, pings and answers about sessions
// may come between the two, so a late COMMIT is nothing unusual: the follower goes on acknowledging, stays in the
// quorum and serves its clients, from the state that it has applied.
//
// A [Hold] holds back all COMMITs from some transaction on, and what must not overtake them: answers to syncs. A
// client that writes through the follower waits as well, because the follower answers when it has applied the write.
//
// A follower that is far behind is sent a snapshot, as bytes that are no packets. From then on everything on that
// connection passes unread; [Hold.Blind] tells.
package quorum
