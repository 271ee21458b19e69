import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.SessionConnectionStateErrorPolicy;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooKeeper;

/** Connections and sessions that end. */
final class Sessions {
    private Sessions() { }

    /** The client has no connection meanwhile, or it could take its session back before its twin closes that. */
    static void expiryByTwin(Stage s) throws Exception {
        Cable cable = s.cable();
        expiry(s, s.via(cable, Stage.SESSION_MS), c -> {
            cable.pull();
            s.expireByTwin(c);
            cable.plug();
        });
    }

    static void expiry(Stage s) throws Exception {
        expiry(s, s.client(), s::expire);
    }

    private interface End {
        void of(CuratorFramework client) throws Exception;
    }

    private static void expiry(Stage s, CuratorFramework c, End end) throws Exception {
        CuratorFramework other = s.client();
        BlockingQueue<String> states = Stage.states(c);
        c.create().withMode(CreateMode.EPHEMERAL).forPath("/e");
        c.create().forPath("/p");
        Watches.Told told = new Watches.Told();
        other.checkExists().usingWatcher(told).forPath("/e");
        long before = id(c);
        end.of(c);
        s.sayNext(told.events, 1);
        s.sayNext(states, 3);
        s.say("the same session: %s", id(c) == before);
        s.say(Basics.sorted(c.getChildren().forPath("/")));
    }

    private static long id(CuratorFramework c) throws Exception {
        return c.getZookeeperClient().getZooKeeper().getSessionId();
    }

    /** A client that is silent for longer than its timeout. */
    static void expiryBySilence(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework c = s.via(cable, Stage.SHORT_MS);
        CuratorFramework other = s.client();
        BlockingQueue<String> states = Stage.states(c);
        c.create().withMode(CreateMode.EPHEMERAL).forPath("/e");
        long before = id(c);
        cable.pull();
        s.sayNext(states, 2);
        Stage.until(() -> other.checkExists().forPath("/e") == null);
        cable.plug();
        s.sayNext(states, 1);
        s.say("the same session: %s", id(c) == before);
    }

    static void reconnect(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework c = s.via(cable, 10_000);
        BlockingQueue<String> states = Stage.states(c);
        c.create().withMode(CreateMode.EPHEMERAL).forPath("/e");
        long before = id(c);
        for (int i = 0; i < 2; i++) {
            cable.cut();
            s.sayNext(states, 2);
        }
        s.say("the same session: %s", id(c) == before);
        s.say(Stage.text(c.checkExists().forPath("/e")));
    }

    static void closed(Stage s) throws Exception {
        CuratorFramework c = s.client();
        CuratorFramework other = s.client();
        c.create().withMode(CreateMode.EPHEMERAL).forPath("/e");
        ZooKeeper handle = c.getZookeeperClient().getZooKeeper();
        c.close();
        s.say(Stage.outcome(() -> other.checkExists().forPath("/e")));
        s.say(Stage.outcome(() -> handle.exists("/e", false)));
        s.say(Stage.outcome(() -> c.checkExists().forPath("/e")));
    }

    /** Neither another password nor a session that has ended is taken for one that is there. */
    static void wrongPassword(Stage s) throws Exception {
        CuratorFramework c = s.client();
        c.create().withMode(CreateMode.EPHEMERAL).forPath("/e");
        ZooKeeper handle = c.getZookeeperClient().getZooKeeper();
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        try (ZooKeeper thief = new ZooKeeper(s.servers(), 10_000, e -> told.add(e.getState().name()),
            handle.getSessionId(),
            new byte[16])) {
            while (!Stage.next(told).equals("Expired")) {
                continue;
            }
            s.say("expired; %s", thief.getState());
        }
        s.say(Stage.text(c.checkExists().forPath("/e")));
    }

    static void timeouts(Stage s) throws Exception {
        for (int wanted : new int[] {900, 3_333, 1_000_000}) {
            try (CuratorFramework c = s.client(builder -> builder.sessionTimeoutMs(wanted))) {
                s.say("%d ms wanted, %d ms given", wanted, c.getZookeeperClient()
                    .getLastNegotiatedSessionTimeoutMs());
            }
        }
    }

    /** A retry policy that gives up. */
    static void givesUp(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework c = s.start(cable.address() + s.root(), builder -> builder.retryPolicy(new RetryOneTime(1))
            .connectionTimeoutMs(500).connectionStateErrorPolicy(new SessionConnectionStateErrorPolicy()));
        BlockingQueue<String> states = Stage.states(c);
        c.create().forPath("/a");
        cable.pull();
        Stage.until(states, ConnectionState.SUSPENDED);
        s.say(Stage.outcome(() -> c.getData().forPath("/a")));
        cable.plug();
        Stage.until(states, ConnectionState.RECONNECTED);
        s.say(Stage.outcome(() -> c.checkExists().forPath("/a") != null));
    }

    static void unreachable(Stage s) throws Exception {
        Cable cable = s.cable();
        cable.pull();
        CuratorFramework c = s.keep(CuratorFrameworkFactory.newClient(cable.address(), 1_000, 1_000,
            new RetryOneTime(1)));
        c.start();
        s.say("connected: %s", c.blockUntilConnected(500, TimeUnit.MILLISECONDS));
        cable.plug();
        s.say("connected: %s", c.blockUntilConnected(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS));
    }

    /** What one client has written another reads after a sync, at whatever server it is. */
    static void sync(Stage s) throws Exception {
        CuratorFramework one = s.client();
        CuratorFramework two = s.client();
        one.create().forPath("/n", new byte[0]);
        for (int i = 1; i <= 5; i++) {
            one.setData().forPath("/n", Stage.bytes("" + i));
            BlockingQueue<String> synced = new LinkedBlockingQueue<>();
            two.sync().inBackground((c, e) -> synced.add("synced")).forPath("/n");
            Stage.next(synced);
            s.say(Stage.text(two.getData().forPath("/n")));
        }
    }
}
