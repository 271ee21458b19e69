import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.CachedAtomicLong;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicInteger;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicValue;
import org.apache.curator.framework.recipes.atomic.PromotedToLock;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedCountListener;
import org.apache.curator.framework.recipes.shared.SharedCountReader;
import org.apache.curator.framework.recipes.shared.SharedValue;
import org.apache.curator.framework.recipes.shared.SharedValueListener;
import org.apache.curator.framework.recipes.shared.SharedValueReader;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;

/** Numbers and values that clients share. */
final class Counters {
    private static final RetryNTimes OFTEN = new RetryNTimes(1000, 1);
    private static final RetryNTimes NEVER = new RetryNTimes(0, 0);

    private Counters() { }

    static void sharedCount(Stage s) throws Exception {
        SharedCount one = s.keep(new SharedCount(s.client(), "/count", 7));
        SharedCount two = s.keep(new SharedCount(s.client(), "/count", 9));
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        two.addListener(new SharedCountListener() {
            @Override
            public void countHasChanged(SharedCountReader count, int value) {
                told.add("changed to " + value);
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {
                told.add(state.name());
            }
        });
        one.start();
        two.start();
        s.say("%d, %d", one.getCount(), two.getCount());
        one.setCount(8);
        s.sayNext(told, 1);
        VersionedValue<Integer> seen = two.getVersionedValue();
        s.say("version %d: %d", seen.getVersion(), seen.getValue());
        s.say("set: %s", one.trySetCount(one.getVersionedValue(), 10));
        s.say("set what has changed: %s", two.trySetCount(seen, 11));
        Stage.until(() -> two.getCount() == 10);
        s.say("set: %s", two.trySetCount(two.getVersionedValue(), 12));
    }

    static void sharedValue(Stage s) throws Exception {
        SharedValue one = s.keep(new SharedValue(s.client(), "/value", Stage.bytes("seed")));
        SharedValue two = s.keep(new SharedValue(s.client(), "/value", Stage.bytes("other")));
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        two.getListenable().addListener(new SharedValueListener() {
            @Override
            public void valueHasChanged(SharedValueReader value, byte[] data) {
                told.add("changed to " + Stage.text(data));
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {
                told.add(state.name());
            }
        });
        one.start();
        two.start();
        s.say(Stage.text(two.getValue()));
        one.setValue(Stage.bytes("new"));
        s.sayNext(told, 1);
        s.say("set: %s", one.trySetValue(one.getVersionedValue(), Stage.bytes("newer")));
        s.sayNext(told, 1);
    }

    static void sharedCountIsCutOff(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework c = s.via(cable, 10_000);
        SharedCount away = s.keep(new SharedCount(c, "/count", 0));
        SharedCount there = s.keep(new SharedCount(s.client(), "/count", 0));
        away.start();
        there.start();
        Watches.away(c, cable, () -> there.setCount(5));
        Stage.until(() -> away.getCount() == 5);
        s.say("version %d: %d", away.getVersionedValue().getVersion(), away.getCount());
    }

    static void atomicLong(Stage s) throws Exception {
        CuratorFramework c = s.client();
        DistributedAtomicLong n = new DistributedAtomicLong(c, "/n", NEVER);
        s.say("initialize: %s, %s", n.initialize(5L), n.initialize(6L));
        say(s, "get", n.get());
        say(s, "increment", n.increment());
        say(s, "decrement", n.decrement());
        say(s, "add", n.add(10L));
        say(s, "subtract", n.subtract(1L));
        say(s, "compare and set", n.compareAndSet(14L, 20L));
        say(s, "compare and set", n.compareAndSet(14L, 30L));
        say(s, "try", n.trySet(21L));
        n.forceSet(1L << 40);
        say(s, "get", n.get());
        s.say("%d bytes", c.getData().forPath("/n").length);
    }

    private static void say(Stage s, String what, AtomicValue<?> value) {
        s.say("%s: %s, %s to %s", what, value.succeeded(), value.preValue(), value.postValue());
    }

    static void atomicLongByMany(Stage s) throws Exception {
        final int clients = 3;
        final int times = 20;
        List<Future<Integer>> adding = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            DistributedAtomicLong n = new DistributedAtomicLong(s.client(), "/n", OFTEN);
            adding.add(Stage.go(() -> {
                int done = 0;
                for (int k = 0; k < times; k++) {
                    done += n.increment().succeeded() ? 1 : 0;
                }
                return done;
            }));
        }
        for (Future<Integer> each : adding) {
            s.say("increments: %d", Stage.get(each));
        }
        say(s, "get", new DistributedAtomicLong(s.client(), "/n", OFTEN).get());
    }

    /** With a lock for when optimism fails. */
    static void atomicInteger(Stage s) throws Exception {
        PromotedToLock lock = PromotedToLock.builder().lockPath("/lock").retryPolicy(OFTEN)
            .timeout(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS).build();
        List<Future<Boolean>> adding = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            DistributedAtomicInteger n = new DistributedAtomicInteger(s.client(), "/n", NEVER, lock);
            adding.add(Stage.go(() -> n.add(2).succeeded()));
        }
        for (Future<Boolean> each : adding) {
            s.say("add: %s", Stage.get(each));
        }
        s.say("sum: %d", new DistributedAtomicInteger(s.client(), "/n", NEVER).get().postValue());
    }

    static void atomicValue(Stage s) throws Exception {
        DistributedAtomicValue v = new DistributedAtomicValue(s.client(), "/v", NEVER);
        s.say("get: %s", v.get().succeeded() + " " + Stage.text(v.get().postValue()));
        s.say("try: %s", v.trySet(Stage.bytes("one")).succeeded());
        s.say("compare and set: %s", v.compareAndSet(Stage.bytes("two"), Stage.bytes("three")).succeeded());
        s.say("compare and set: %s", v.compareAndSet(Stage.bytes("one"), Stage.bytes("two")).succeeded());
        s.say("get: %s", Stage.text(v.get().postValue()));
    }

    static void cachedLong(Stage s) throws Exception {
        DistributedAtomicLong n = new DistributedAtomicLong(s.client(), "/n", NEVER);
        CachedAtomicLong one = new CachedAtomicLong(n, 3);
        CachedAtomicLong two = new CachedAtomicLong(new DistributedAtomicLong(s.client(), "/n", NEVER), 3);
        for (int i = 0; i < 4; i++) {
            s.say("%d, %d", one.next().preValue(), two.next().preValue());
        }
        s.say("taken: %d", n.get().postValue());
    }
}
