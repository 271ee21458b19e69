import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.nodes.PersistentTtlNode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.data.Stat;

/** Znodes that the servers remove: on servers that look for them often, which would disturb other scenarios. */
final class Reaping {
    private Reaping() { }

    static void ttlNode(Stage s) throws Exception {
        final long ttlMs = 2000;
        CuratorFramework other = s.client();
        CuratorFramework c = s.client();
        PersistentTtlNode node = s.keep(new PersistentTtlNode(c, "/node", ttlMs, Stage.bytes("x")));
        node.start();
        s.say("%s", node.waitForInitialCreate(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS));
        long touches = other.checkExists().forPath("/node/touch") == null ? 0
            : other.checkExists().forPath("/node/touch").getVersion();
        Stage.until(() -> {
            Stat touch = other.checkExists().forPath("/node/touch");
            return touch != null && touch.getVersion() > touches + 1;
        });
        s.say("it is touched, and stays: %s", Stage.text(other.getData().forPath("/node")));
        node.close();
        c.close();
        Stage.until(() -> other.checkExists().forPath("/node") == null);
        s.say("it is gone");
    }

    static void ttlEnds(Stage s) throws Exception {
        CuratorFramework c = s.client();
        c.create().withTtl(300).withMode(CreateMode.PERSISTENT_WITH_TTL).forPath("/a", new byte[0]);
        s.say(c.create().withTtl(300).withMode(CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL).forPath("/a-",
            new byte[0]));
        c.create().withTtl(300).withMode(CreateMode.PERSISTENT_WITH_TTL).forPath("/parent", new byte[0]);
        c.create().forPath("/parent/child");
        Stage.until(() -> c.getChildren().forPath("/").size() == 1);
        s.say(Basics.sorted(c.getChildren().forPath("/")));
        c.delete().forPath("/parent/child");
        Stage.until(() -> c.getChildren().forPath("/").isEmpty());
        s.say(Stage.outcome(() -> c.create().withTtl(-1).withMode(CreateMode.PERSISTENT_WITH_TTL).forPath("/a",
            new byte[0])));
    }

    static void containers(Stage s) throws Exception {
        CuratorFramework c = s.client();
        c.createContainers("/a/b");
        c.create().withMode(CreateMode.CONTAINER).forPath("/empty", new byte[0]);
        c.create().forPath("/a/b/c");
        s.say("%x", c.checkExists().forPath("/a/b").getEphemeralOwner());
        c.delete().forPath("/a/b/c");
        Stage.until(() -> c.checkExists().forPath("/a") == null);
        s.say("one that never had a child stays: %s", c.checkExists().forPath("/empty") != null);
    }
}
