import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.watch.PersistentWatcher;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.Watcher;

/** Watches of each kind. */
final class Watches {
    private Watches() { }

    static void oneShot(Stage s) throws Exception {
        CuratorFramework c = s.client();
        CuratorFramework other = s.client();
        Told told = new Told();
        c.checkExists().usingWatcher(told).forPath("/a");
        other.create().forPath("/a", new byte[0]);
        s.sayNext(told.events, 1);
        c.getData().usingWatcher(told).forPath("/a");
        other.setData().forPath("/a", new byte[1]);
        s.sayNext(told.events, 1);
        c.getChildren().usingWatcher(told).forPath("/a");
        other.create().forPath("/a/b");
        s.sayNext(told.events, 1);
        Told more = new Told();
        c.getChildren().usingWatcher(told).forPath("/a");
        c.checkExists().usingWatcher(more).forPath("/a");
        other.delete().deletingChildrenIfNeeded().forPath("/a");
        s.sayNext(told.events, 1);
        s.sayNext(more.events, 1);
        for (Told each : new Told[] {told, more}) { // nothing else came
            c.checkExists().usingWatcher(each).forPath("/a");
        }
        other.create().forPath("/a");
        s.sayNext(told.events, 1);
        s.sayNext(more.events, 1);
    }

    static void persistent(Stage s) throws Exception {
        watch(s, AddWatchMode.PERSISTENT, 6);
    }

    static void recursive(Stage s) throws Exception {
        watch(s, AddWatchMode.PERSISTENT_RECURSIVE, 8);
    }

    private static void watch(Stage s, AddWatchMode mode, int events) throws Exception {
        CuratorFramework c = s.client();
        Told told = new Told();
        c.watchers().add().withMode(mode).usingWatcher(told).forPath("/a");
        change(c);
        c.create().forPath("/a");
        s.sayNext(told.events, events);
    }

    private static void change(CuratorFramework c) throws Exception {
        c.create().forPath("/a", new byte[0]);
        c.setData().forPath("/a", new byte[1]);
        c.create().forPath("/a/b");
        c.create().forPath("/a/b/c");
        c.delete().forPath("/a/b/c");
        c.create().forPath("/ab");
        c.delete().forPath("/a/b");
        c.delete().forPath("/a");
    }

    static void removed(Stage s) throws Exception {
        CuratorFramework c = s.client();
        Told data = new Told();
        Told children = new Told();
        Told always = new Told();
        c.create().forPath("/a", new byte[0]);
        c.getData().usingWatcher(data).forPath("/a");
        c.getChildren().usingWatcher(children).forPath("/a");
        c.watchers().add().withMode(AddWatchMode.PERSISTENT).usingWatcher(always).forPath("/a");
        s.say(Stage.outcome(() -> c.watchers().remove(new Told()).forPath("/a")));
        c.watchers().remove(data).ofType(Watcher.WatcherType.Data).forPath("/a");
        s.sayNext(data.events, 1);
        s.say(Stage.outcome(() -> c.watchers().remove(children).ofType(Watcher.WatcherType.Data).forPath("/a")));
        c.watchers().removeAll().ofType(Watcher.WatcherType.Children).forPath("/a");
        s.sayNext(children.events, 1);
        s.say(Stage.outcome(() -> c.watchers().remove(always).forPath("/a")));
        s.sayNext(always.events, 1);
        c.setData().forPath("/a", new byte[1]);
        c.create().forPath("/a/b");
        s.say(Stage.outcome(() -> c.watchers().removeAll().forPath("/a")));
        for (Told each : new Told[] {data, children, always}) { // nothing else came
            c.checkExists().usingWatcher(each).forPath("/a/b");
        }
        c.delete().forPath("/a/b");
        for (Told each : new Told[] {data, children, always}) {
            s.sayNext(each.events, 1);
        }
    }

    /** A client that was away learns what it has missed, and its other watches are there again. */
    static void reconnect(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework c = s.via(cable, 10_000);
        CuratorFramework other = s.client();
        for (String path : new String[] {"/changed", "/same", "/deleted", "/parent"}) {
            other.create().forPath(path, new byte[0]);
        }
        Told told = new Told();
        for (String path : new String[] {"/changed", "/same", "/deleted"}) {
            c.getData().usingWatcher(told).forPath(path);
        }
        c.getChildren().usingWatcher(told).forPath("/parent");
        c.checkExists().usingWatcher(told).forPath("/created");
        away(c, cable, () -> {
            other.setData().forPath("/changed", new byte[1]);
            other.delete().forPath("/deleted");
            other.create().forPath("/created");
            other.create().forPath("/parent/child");
        });
        s.saySorted(told.events, 4);
        other.setData().forPath("/same", new byte[1]);
        s.sayNext(told.events, 1);
    }

    /** Persistent watches survive, without what was missed: SetWatches2. */
    static void persistentReconnect(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework c = s.via(cable, 10_000);
        CuratorFramework other = s.client();
        other.create().forPath("/a", new byte[0]);
        Told one = new Told();
        Told all = new Told();
        c.watchers().add().withMode(AddWatchMode.PERSISTENT).usingWatcher(one).forPath("/a");
        c.watchers().add().withMode(AddWatchMode.PERSISTENT_RECURSIVE).usingWatcher(all).forPath("/");
        away(c, cable, () -> other.setData().forPath("/a", new byte[1]));
        other.create().forPath("/a/b");
        other.setData().forPath("/a/b", new byte[1]);
        s.sayNext(one.events, 1);
        s.sayNext(all.events, 3);
    }

    static void recipe(Stage s) throws Exception {
        CuratorFramework c = s.client();
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        PersistentWatcher watcher = s.keep(new PersistentWatcher(c, "/a", true));
        BlockingQueue<String> reset = new LinkedBlockingQueue<>();
        watcher.getListenable().addListener(e -> events.add(e.getType() + " " + e.getPath()));
        watcher.getResetListenable().addListener(() -> reset.add("set"));
        watcher.start();
        s.sayNext(reset, 1);
        c.create().creatingParentsIfNeeded().forPath("/a/b/c");
        s.sayNext(events, 3);
    }

    interface Action {
        void run() throws Exception;
    }

    /** Does something while a client is away. */
    static void away(CuratorFramework c, Cable cable, Action action) throws Exception {
        BlockingQueue<String> states = Stage.states(c);
        cable.pull();
        Stage.until(states, ConnectionState.SUSPENDED);
        action.run();
        cable.plug();
        Stage.until(states, ConnectionState.RECONNECTED);
        c.checkExists().forPath("/"); // behind setWatches
    }

    /** What a watcher is told of znodes. */
    static final class Told implements Watcher {
        final BlockingQueue<String> events = new LinkedBlockingQueue<>();

        @Override
        public void process(org.apache.zookeeper.WatchedEvent event) {
            if (event.getPath() != null) {
                events.add(event.getType() + " " + event.getPath());
            }
        }
    }
}
