// Package quorum reads what a leader tells a follower, and can hold back by which transaction.
//
// A follower connects to its leader's quorum port. By that connection it is brought up to date, and then hears of each
// transaction twice: a PROPOSAL, which it logs and acknowledges, and a COMMIT once a majority has, upon which it applies it,
// and its clients see it (ZooKeeper's Leader, LearnerHandler and Follower; 3.8). Proposals may come while earlier
// transactions are not committed yet, and so may pings, and answers to who asks whether a session is alive. So a COMMIT
// that comes late is nothing unusual. A follower from which COMMITs are held back goes on acknowledging: it stays
// in the quorum and serves its clients, but what it serves is what was so many transactions ago.
//
// A [Hold] holds back all COMMITs from some transaction on, and whatever must not overtake them: answers to syncs. Who asks a
// follower to write is answered when the follower has applied that, so it waits as long as that is held back.
//
// A follower that has to be sent a whole snapshot gets it in between, as bytes that are no packets. From then on all passes
// that connection, unread; [Hold.Blind] tells.
package quorum
