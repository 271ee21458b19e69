import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;

/** Elections. */
final class Leaders {
    private Leaders() { }

    static void latch(Stage s) throws Exception {
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        LeaderLatch[] latches = new LeaderLatch[3];
        for (int i = 0; i < latches.length; i++) {
            CuratorFramework c = s.client();
            latches[i] = latch(c, "candidate " + i, told);
            Stage.untilChildren(c, "/election", i + 1);
        }
        s.say(participants(latches[2]));
        for (LeaderLatch each : latches) {
            s.say("%s leads: %s", each.getId(), each.await(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS));
            s.say("%d participants, the leader is %s", latches[2].getParticipants().size(), latches[2].getLeader()
                .getId());
            each.close(LeaderLatch.CloseMode.NOTIFY_LEADER);
            s.say("%s: %s", each.getId(), each.getState());
        }
        s.saySorted(told, 6);
    }

    private static LeaderLatch latch(CuratorFramework c, String id, BlockingQueue<String> told) throws Exception {
        LeaderLatch latch = new LeaderLatch(c, "/election", id);
        latch.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {
                told.add(id + ": leads");
            }

            @Override
            public void notLeader() {
                told.add(id + ": leads no more");
            }
        });
        latch.start();
        return latch;
    }

    private static String participants(LeaderLatch latch) throws Exception {
        return latch.getParticipants().stream().map(Participant::toString).collect(Collectors.joining("; "));
    }

    /** A leader that is cut off leads no more, and leads again with the same node. */
    static void latchIsCutOff(Stage s) throws Exception {
        Cable cable = s.cable();
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        CuratorFramework c = s.via(cable, 10_000);
        LeaderLatch latch = s.keep(latch(c, "one", told));
        s.sayNext(told, 1);
        Watches.away(c, cable, () -> s.sayNext(told, 1));
        s.sayNext(told, 1);
        s.say(participants(latch));
    }

    static void latchAfterExpiry(Stage s) throws Exception {
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        CuratorFramework c = s.client();
        LeaderLatch one = s.keep(latch(c, "one", told));
        s.sayNext(told, 1);
        LeaderLatch two = s.keep(latch(s.client(), "two", told));
        Stage.untilChildren(c, "/election", 2);
        s.expire(c);
        s.saySorted(told, 2);
        Stage.untilChildren(c, "/election", 2);
        s.say(participants(two));
        s.say("%s, %s", one.hasLeadership(), two.hasLeadership());
    }

    static void selector(Stage s) throws Exception {
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        CountDownLatch all = new CountDownLatch(1);
        int candidates = 3;
        LeaderSelector[] selectors = new LeaderSelector[candidates];
        for (int i = 0; i < selectors.length; i++) {
            CuratorFramework c = s.client();
            String id = "candidate " + i;
            selectors[i] = s.keep(new LeaderSelector(c, "/election", new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework client) throws Exception {
                    all.await();
                    Stage.untilChildren(client, "/election", candidates); // whoever led before has queued up again
                    told.add(id + " leads");
                }
            }));
            selectors[i].setId(id);
            selectors[i].autoRequeue();
            selectors[i].start();
            Stage.untilChildren(c, "/election", i + 1);
        }
        s.say(selectors[1].getParticipants().stream().map(Participant::toString).collect(Collectors.joining("; ")));
        s.say("leader: %s", selectors[2].getLeader().getId());
        all.countDown();
        s.sayNext(told, 2 * candidates);
    }

    static void selectorIsInterrupted(Stage s) throws Exception {
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        LeaderSelector selector = s.keep(new LeaderSelector(s.client(), "/election", untilInterrupted(told)));
        selector.start();
        s.sayNext(told, 1);
        selector.interruptLeadership();
        s.sayNext(told, 1);
        s.say("requeue: %s", Stage.outcome(() -> {
            Stage.until(selector::requeue);
            return "done";
        }));
        s.sayNext(told, 1);
    }

    private static LeaderSelectorListenerAdapter untilInterrupted(BlockingQueue<String> told) {
        return new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws Exception {
                told.add("leads");
                try {
                    new CountDownLatch(1).await();
                } finally {
                    told.add("is interrupted");
                }
            }
        };
    }

    /** The adapter's habit: who is cut off gives up. */
    static void selectorIsCutOff(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework c = s.via(cable, 10_000);
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        LeaderSelector selector = s.keep(new LeaderSelector(c, "/election", untilInterrupted(told)));
        selector.autoRequeue();
        selector.start();
        s.sayNext(told, 1);
        Watches.away(c, cable, () -> s.sayNext(told, 1));
        s.sayNext(told, 1);
        s.say("%d participants", selector.getParticipants().size());
    }
}
