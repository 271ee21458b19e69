import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.data.Stat;

/** Znodes that outlive sessions. */
final class Nodes {
    private Nodes() { }

    static void persistentNode(Stage s) throws Exception {
        CuratorFramework c = s.client();
        CuratorFramework other = s.client();
        PersistentNode node = s.keep(new PersistentNode(c, CreateMode.EPHEMERAL, false, "/a/node",
            Stage.bytes("one")));
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        node.getListenable().addListener(path -> told.add("created " + path));
        node.start();
        s.say("%s", node.waitForInitialCreate(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS));
        s.sayNext(told, 1);
        s.say(Stage.text(other.getData().forPath("/a/node")));
        node.setData(Stage.bytes("second"));
        Stage.until(() -> other.checkExists().forPath("/a/node").getVersion() == 1);
        s.say(Stage.text(other.getData().forPath("/a/node")));
        other.delete().forPath("/a/node");
        s.sayNext(told, 1);
        s.say(Stage.text(other.checkExists().forPath("/a/node")));
        node.close();
        s.say(Stage.outcome(() -> other.checkExists().forPath("/a/node")));
    }

    static void persistentNodeAfterExpiry(Stage s) throws Exception {
        CuratorFramework c = s.client();
        PersistentNode node = s.keep(
            new PersistentNode(c, CreateMode.EPHEMERAL_SEQUENTIAL, true, "/node-", Stage.bytes("one")));
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        node.getListenable().addListener(path -> told.add(path.replaceAll("_c_[-0-9a-f]{36}-", "_c_GUID-")));
        node.start();
        s.sayNext(told, 1);
        s.expire(c);
        s.sayNext(told, 1);
        Stage.untilChildren(s.client(), "/", 1); // it may go once more and come again, as Curator replaces its handle
    }

    static void group(Stage s) throws Exception {
        CuratorFramework c = s.client();
        GroupMember one = s.keep(new GroupMember(c, "/group", "one", Stage.bytes("1")));
        GroupMember two = new GroupMember(s.client(), "/group", "two", Stage.bytes("2"));
        one.start();
        two.start();
        Stage.until(() -> one.getCurrentMembers().size() == 2 && two.getCurrentMembers().size() == 2);
        s.say(members(one));
        Stage.until(() -> changed(two, "new"));
        Stage.until(() -> members(one).contains("new"));
        s.say(members(one));
        two.close();
        Stage.until(() -> one.getCurrentMembers().size() == 1);
        s.say(members(one));
    }

    /** Changes a member's data, unless the member has not heard yet that its znode was made. */
    private static boolean changed(GroupMember member, String data) {
        try {
            member.setThisData(Stage.bytes(data));
            return true;
        } catch (IllegalStateException early) {
            return false;
        }
    }

    static void groupAfterExpiry(Stage s) throws Exception {
        CuratorFramework c = s.client();
        GroupMember one = s.keep(new GroupMember(c, "/group", "one", Stage.bytes("1")));
        GroupMember two = s.keep(new GroupMember(s.client(), "/group", "two", Stage.bytes("2")));
        one.start();
        two.start();
        Stage.until(() -> two.getCurrentMembers().size() == 2);
        long before = c.checkExists().forPath("/group/one").getCzxid();
        s.expire(c);
        Stage.until(() -> {
            Stat again = c.checkExists().forPath("/group/one");
            return again != null && again.getCzxid() != before;
        });
        Stage.until(() -> two.getCurrentMembers().size() == 2);
        s.say(members(two));
    }

    private static String members(GroupMember member) {
        TreeMap<String, String> shown = new TreeMap<>();
        member.getCurrentMembers().forEach((id, data) -> shown.put(id, Stage.text(data)));
        return shown.toString();
    }
}
