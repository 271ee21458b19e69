import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;

/** Barriers. */
final class Barriers {
    private static final int SOON_MS = 200;

    private Barriers() { }

    static void barrier(Stage s) throws Exception {
        CuratorFramework c = s.client();
        DistributedBarrier one = new DistributedBarrier(c, "/barrier");
        DistributedBarrier two = new DistributedBarrier(s.client(), "/barrier");
        s.say("open: %s", two.waitOnBarrier(SOON_MS, TimeUnit.MILLISECONDS));
        one.setBarrier();
        one.setBarrier();
        s.say("shut: %s", two.waitOnBarrier(SOON_MS, TimeUnit.MILLISECONDS));
        Future<Boolean> waiting = Stage.go(() -> two.waitOnBarrier(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS));
        one.removeBarrier();
        one.removeBarrier();
        s.say("open: %s", Stage.get(waiting));
        s.say(Stage.outcome(() -> c.checkExists().forPath("/barrier")));
    }

    static void doubleBarrier(Stage s) throws Exception {
        final int members = 3;
        DistributedDoubleBarrier first = new DistributedDoubleBarrier(s.client(), "/barrier", members);
        s.say("alone: %s", first.enter(SOON_MS, TimeUnit.MILLISECONDS));
        s.say("leave: %s", first.leave(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS));
        for (int round = 0; round < 2; round++) {
            List<DistributedDoubleBarrier> barriers = new ArrayList<>();
            for (int i = 0; i < members; i++) {
                barriers.add(new DistributedDoubleBarrier(s.client(), "/twice", members));
            }
            s.say("enter: %s", all(barriers, b -> b.enter(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS)));
            s.say("leave: %s", all(barriers, b -> b.leave(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS)));
        }
    }

    private interface Step {
        boolean of(DistributedDoubleBarrier barrier) throws Exception;
    }

    private static List<Boolean> all(List<DistributedDoubleBarrier> barriers, Step step) throws Exception {
        List<Future<Boolean>> under = new ArrayList<>();
        for (DistributedDoubleBarrier each : barriers) {
            under.add(Stage.go(() -> step.of(each)));
        }
        List<Boolean> done = new ArrayList<>();
        for (Future<Boolean> each : under) {
            done.add(Stage.get(each));
        }
        return done;
    }
}
