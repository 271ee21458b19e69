import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.BackgroundCallback;
import org.apache.curator.framework.schema.Schema;
import org.apache.curator.framework.schema.SchemaSet;
import org.apache.curator.framework.schema.SchemaViolation;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.Stat;

/** Single operations. */
final class Basics {
    private Basics() { }

    static void crud(Stage s) throws Exception {
        CuratorFramework c = s.client();
        s.say(c.create().forPath("/a", Stage.bytes("one")));
        s.say(Stage.outcome(() -> c.create().forPath("/a")));
        s.say(Stage.outcome(() -> c.checkExists().forPath("/a")));
        s.say(Stage.outcome(() -> c.checkExists().forPath("/none")));
        s.say(Stage.outcome(() -> c.setData().withVersion(0).forPath("/a", Stage.bytes("second"))));
        s.say(Stage.outcome(() -> c.setData().withVersion(0).forPath("/a", Stage.bytes("third"))));
        Stat stat = new Stat();
        s.say(Stage.text(c.getData().storingStatIn(stat).forPath("/a")));
        s.say(Stage.text(stat));
        s.say(c.create().forPath("/a/b", new byte[0]));
        s.say(Stage.outcome(() -> c.create().forPath("/none/b")));
        s.say(Stage.outcome(() -> c.delete().forPath("/a")));
        s.say(Stage.outcome(() -> c.delete().withVersion(7).forPath("/a/b")));
        s.say(Stage.outcome(() -> c.delete().withVersion(0).forPath("/a/b")));
        s.say(Stage.outcome(() -> c.delete().forPath("/a")));
        s.say(Stage.outcome(() -> c.delete().forPath("/a")));
        s.say(Stage.outcome(() -> c.delete().quietly().forPath("/a")));
    }

    static void createModes(Stage s) throws Exception {
        CuratorFramework c = s.client();
        for (CreateMode mode : CreateMode.values()) {
            Stat stat = new Stat();
            s.say("%s: %s", mode, Stage.outcome(() -> mode.isTTL()
                ? c.create().withTtl(600_000).storingStatIn(stat).withMode(mode).forPath("/n-", new byte[0])
                : c.create().storingStatIn(stat).withMode(mode).forPath("/n-" + (mode.isSequential() ? "" : mode),
                    new byte[0])));
            s.say(Stage.text(stat));
        }
        s.say(Stage.outcome(() -> c.create().forPath("/n-EPHEMERAL/child")));
    }

    static void parents(Stage s) throws Exception {
        CuratorFramework c = s.client();
        s.say(c.create().creatingParentsIfNeeded().forPath("/a/b/c"));
        s.say(c.create().creatingParentContainersIfNeeded().withMode(CreateMode.EPHEMERAL).forPath("/d/e/f"));
        s.say("a: owner %x, d: owner %x", c.checkExists().forPath("/a").getEphemeralOwner(),
            c.checkExists().forPath("/d").getEphemeralOwner());
        s.say(Stage.outcome(() -> c.checkExists().creatingParentsIfNeeded().forPath("/g/h")));
        s.say(sorted(c.getChildren().forPath("/")));
        c.delete().deletingChildrenIfNeeded().forPath("/a");
        s.say(sorted(c.getChildren().forPath("/")));
    }

    static void createOrSet(Stage s) throws Exception {
        CuratorFramework c = s.client();
        for (String data : new String[] {"first", "second"}) {
            s.say(c.create().orSetData().forPath("/a", Stage.bytes(data)));
        }
        s.say(Stage.text(c.getData().forPath("/a")) + ", " + Stage.text(c.checkExists().forPath("/a")));
        s.say(Stage.outcome(() -> c.create().idempotent().forPath("/a", Stage.bytes("second"))));
        s.say(Stage.outcome(() -> c.create().idempotent().forPath("/a", Stage.bytes("other"))));
        s.say(Stage.outcome(() -> c.setData().idempotent().withVersion(0).forPath("/a", Stage.bytes("second"))));
        s.say(Stage.outcome(() -> c.delete().idempotent().forPath("/none")));
    }

    static void bigAndForeignTexts(Stage s) throws Exception {
        CuratorFramework c = s.client();
        byte[] big = new byte[1_000_000];
        big[big.length - 1] = 1;
        s.say(c.create().forPath("/größe", big));
        byte[] got = c.getData().forPath("/größe");
        s.say("%d bytes, the last is %d", got.length, got[got.length - 1]);
        s.say(c.create().forPath("/日本", Stage.bytes("é")));
        s.say(sorted(c.getChildren().forPath("/")));
        s.say(Stage.text(c.getData().forPath("/日本")));
    }

    static void compression(Stage s) throws Exception {
        CuratorFramework c = s.client();
        byte[] zeros = new byte[10_000];
        c.create().compressed().forPath("/a", zeros);
        byte[] raw = c.getData().forPath("/a");
        s.say("%d bytes in place of %d, magic %x", raw.length, zeros.length,
            ((raw[0] & 0xff) << 8) | (raw[1] & 0xff));
        s.say("%d bytes", c.getData().decompressed().forPath("/a").length);
        c.setData().compressed().forPath("/a", Stage.bytes("short"));
        s.say(Stage.text(c.getData().decompressed().forPath("/a")));
    }

    static void protection(Stage s) throws Exception {
        CuratorFramework c = s.client();
        String made = c.create().withProtection().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/n-",
            new byte[0]);
        s.say(anonymous(made));
    }

    /** The reply of a protected create is lost: the client finds what it has made. */
    static void protectionAgainstLoss(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework c = s.via(cable, 10_000);
        cable.loseReplyTo(ZooDefs.OpCode.create2);
        cable.loseReplyTo(ZooDefs.OpCode.create);
        String made = c.create().withProtection().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/n-",
            new byte[0]);
        s.say(anonymous(made));
        s.say("children: %d", c.getChildren().forPath("/").size());
        c.create().forPath("/plain");
        cable.loseReplyTo(ZooDefs.OpCode.setData);
        c.setData().forPath("/plain", Stage.bytes("twice"));
        s.say(Stage.text(c.checkExists().forPath("/plain")));
        cable.loseReplyTo(ZooDefs.OpCode.delete);
        s.say(Stage.outcome(() -> c.delete().forPath("/plain")));
        s.say(Stage.outcome(() -> c.checkExists().forPath("/plain")));
    }

    private static String anonymous(String path) {
        return path.replaceAll("_c_[-0-9a-f]{36}-", "_c_GUID-");
    }

    static void background(Stage s) throws Exception {
        CuratorFramework c = s.client();
        BlockingQueue<String> done = new LinkedBlockingQueue<>();
        BackgroundCallback told = (client, e) -> done.add(String.format("%s %s: %s%s%s%s, context %s", e.getType(),
            e.getPath(),
            KeeperException.Code.get(e.getResultCode()), e.getName() == null ? "" : ", name " + e.getName(),
            e.getData() == null ? "" : ", data " + Stage.text(e.getData()), e.getStat() == null ? "" : ", "
                + Stage.text(e.getStat()),
            e.getContext()));
        c.create().inBackground(told, 1).forPath("/a", Stage.bytes("x"));
        c.create().inBackground(told, 2).forPath("/a", Stage.bytes("x"));
        c.create().creatingParentsIfNeeded().withMode(CreateMode.PERSISTENT_SEQUENTIAL).inBackground(told)
            .forPath("/b/c-", new byte[0]);
        s.saySorted(done, 3);
        c.setData().inBackground(told).forPath("/a", Stage.bytes("longer"));
        c.getData().inBackground(told).forPath("/a");
        c.checkExists().inBackground(told).forPath("/none");
        c.getACL().inBackground(told).forPath("/a");
        c.getChildren().inBackground(told).forPath("/b");
        c.sync().inBackground(told).forPath("/a");
        c.delete().inBackground(told).forPath("/b");
        c.delete().deletingChildrenIfNeeded().inBackground(told).forPath("/b");
        s.saySorted(done, 8);
    }

    static void backgroundListener(Stage s) throws Exception {
        CuratorFramework c = s.client();
        BlockingQueue<String> done = new LinkedBlockingQueue<>();
        c.getCuratorListenable().addListener((client, e) -> {
            if (e.getPath() != null) {
                done.add(e.getType() + " " + e.getPath());
            }
        });
        c.create().inBackground().forPath("/a");
        s.sayNext(done, 1);
        c.getData().inBackground().forPath("/a");
        s.sayNext(done, 1);
        c.sync().inBackground().forPath("/a");
        s.sayNext(done, 1);
    }

    /** A guaranteed delete is done when the server is back. */
    static void guaranteedDelete(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework there = s.client();
        CuratorFramework c = s.start(cable.address() + s.root(), builder -> builder.connectionTimeoutMs(500)
            .retryPolicy((count, elapsed, sleeper) -> false));
        there.create().forPath("/a");
        BlockingQueue<String> states = Stage.states(c);
        cable.pull();
        Stage.until(states, org.apache.curator.framework.state.ConnectionState.SUSPENDED);
        s.say(Stage.outcome(() -> c.delete().guaranteed().forPath("/a")));
        s.say(Stage.outcome(() -> there.checkExists().forPath("/a")));
        cable.plug();
        Stage.until(() -> there.checkExists().forPath("/a") == null);
        s.say("deleted");
    }

    static void namespaces(Stage s) throws Exception {
        CuratorFramework whole = s.client();
        CuratorFramework c = s.client(builder -> builder.namespace("app"));
        s.say(c.create().forPath("/a", Stage.bytes("x")));
        s.say("namespace %s: %s", c.getNamespace(), sorted(c.getChildren().forPath("/")));
        s.say("outside: %s %s", sorted(whole.getChildren().forPath("/")), Stage.text(whole.getData()
            .forPath("/app/a")));
        CuratorFramework other = c.usingNamespace("other");
        s.say(other.create().creatingParentsIfNeeded().forPath("/b/c"));
        s.say(Stage.outcome(() -> c.checkExists().forPath("/b")));
        s.say(c.usingNamespace(null).checkExists().forPath("/other/b/c") != null ? "there" : "not there");
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        c.getData().usingWatcher((org.apache.curator.framework.api.CuratorWatcher) e -> events.add(e.getType() + " "
            + e.getPath()))
            .forPath("/a");
        whole.setData().forPath("/app/a", new byte[0]);
        s.sayNext(events, 1);
    }

    static void chroot(Stage s) throws Exception {
        CuratorFramework whole = s.client();
        CuratorFramework c = s.start(s.servers() + s.root() + "/below", builder -> { });
        s.say(Stage.outcome(() -> c.create().forPath("/a")));
        whole.create().forPath("/below");
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        c.checkExists().usingWatcher((org.apache.zookeeper.Watcher) e -> events.add(e.getType() + " "
            + e.getPath())).forPath("/a");
        s.say(c.create().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/a-"));
        s.say(c.create().forPath("/a"));
        s.sayNext(events, 1);
        s.say(sorted(whole.getChildren().forPath("/below")));
        s.say(Stage.outcome(() -> c.getData().forPath("/")));
    }

    static void schemas(Stage s) throws Exception {
        Schema records = Schema.builder(java.util.regex.Pattern.compile("/records/.*")).name("records")
            .dataValidator((schema, path, data, acl) -> data.length > 0).ephemeral(Schema.Allowance.CANNOT)
            .watched(Schema.Allowance.CANNOT).build();
        SchemaSet set = new SchemaSet(Collections.singletonList(records), false);
        CuratorFramework c = s.client(builder -> builder.schemaSet(set));
        s.client().create().forPath("/records");
        s.say(Stage.outcome(() -> c.create().forPath("/records/a", Stage.bytes("x"))));
        s.say(violation(() -> c.create().forPath("/records/b", new byte[0])));
        s.say(violation(() -> c.create().withMode(CreateMode.EPHEMERAL).forPath("/records/b", Stage.bytes("x"))));
        s.say(violation(() -> c.getData().watched().forPath("/records/a")));
        s.say(violation(() -> c.create().forPath("/elsewhere")));
        s.say(sorted(s.client().getChildren().forPath("/records")));
    }

    private static String violation(java.util.concurrent.Callable<?> action) throws Exception {
        try {
            return Stage.text(action.call());
        } catch (SchemaViolation refused) {
            return refused.getViolation();
        }
    }

    static String sorted(List<String> names) {
        List<String> sorted = new ArrayList<>(names);
        Collections.sort(sorted);
        return sorted.toString();
    }
}
