import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;

/** Permissions. */
final class Acls {
    private Acls() { }

    static void creatorsOnly(Stage s) throws Exception {
        CuratorFramework ann = s.client(builder -> builder.authorization("digest", Stage.bytes("ann:secret")));
        CuratorFramework other = s.client();
        ann.create().withACL(ZooDefs.Ids.CREATOR_ALL_ACL).forPath("/a", Stage.bytes("x"));
        s.say(text(ann.getACL().forPath("/a")));
        s.say(Stage.text(ann.getData().forPath("/a")));
        s.say(Stage.outcome(() -> other.getData().forPath("/a")));
        s.say(Stage.outcome(() -> other.setData().forPath("/a", new byte[0])));
        s.say(Stage.outcome(() -> other.getChildren().forPath("/a")));
        s.say(Stage.outcome(() -> other.create().forPath("/a/b")));
        s.say(Stage.outcome(() -> other.getACL().forPath("/a")));
        s.say(Stage.outcome(() -> other.checkExists().forPath("/a")));
        s.say(Stage.outcome(() -> other.delete().forPath("/a")));
        s.say(Stage.outcome(() -> other.create().withACL(ZooDefs.Ids.CREATOR_ALL_ACL).forPath("/b")));
    }

    static void authLater(Stage s) throws Exception {
        CuratorFramework ann = s.client(builder -> builder.authorization("digest", Stage.bytes("ann:secret")));
        CuratorFramework c = s.client();
        ann.create().withACL(ZooDefs.Ids.CREATOR_ALL_ACL).forPath("/a", Stage.bytes("x"));
        c.getZookeeperClient().getZooKeeper().addAuthInfo("digest", Stage.bytes("ann:wrong"));
        s.say(Stage.outcome(() -> c.getData().forPath("/a")));
        c.getZookeeperClient().getZooKeeper().addAuthInfo("digest", Stage.bytes("ann:secret"));
        s.say(Stage.outcome(() -> c.getData().forPath("/a")));
    }

    static void authAfterReconnectAndExpiry(Stage s) throws Exception {
        CuratorFramework ann = s.client(builder -> builder.authorization("digest", Stage.bytes("ann:secret")));
        ann.create().withACL(ZooDefs.Ids.CREATOR_ALL_ACL).forPath("/a", Stage.bytes("x"));
        s.expire(ann);
        s.say(Stage.outcome(() -> ann.getData().forPath("/a")));
    }

    static void versions(Stage s) throws Exception {
        CuratorFramework c = s.client();
        c.create().forPath("/a", new byte[0]);
        List<ACL> readers = Arrays.asList(new ACL(ZooDefs.Perms.READ | ZooDefs.Perms.ADMIN,
            ZooDefs.Ids.ANYONE_ID_UNSAFE),
            new ACL(ZooDefs.Perms.ALL, new Id("ip", "127.0.0.1/8")), new ACL(ZooDefs.Perms.WRITE, new Id("digest",
                "ann:x")));
        s.say(Stage.outcome(() -> c.setACL().withVersion(1).withACL(readers).forPath("/a")));
        s.say(Stage.outcome(() -> c.setACL().withVersion(0).withACL(readers).forPath("/a")));
        Stat stat = new Stat();
        s.say(text(c.getACL().storingStatIn(stat).forPath("/a")));
        s.say(Stage.text(stat));
        s.say(Stage.outcome(() -> c.setACL().withACL(ZooDefs.Ids.READ_ACL_UNSAFE).forPath("/a")));
        s.say(Stage.outcome(() -> c.setData().forPath("/a", new byte[0])));
        s.say(Stage.outcome(() -> c.setACL().withACL(ZooDefs.Ids.OPEN_ACL_UNSAFE).forPath("/a")));
        s.say(Stage.outcome(() -> c.create().withACL(Collections.singletonList(new ACL(1, new Id("none", "x"))))
            .forPath("/b")));
        s.say(Stage.outcome(() -> c.create().withACL(Collections.singletonList(new ACL(1, new Id("ip", "x"))))
            .forPath("/b")));
        s.say(Stage.outcome(() -> c.setACL().withACL(ZooDefs.Ids.OPEN_ACL_UNSAFE).forPath("/none")));
    }

    static void provider(Stage s) throws Exception {
        ACLProvider provider = new ACLProvider() {
            @Override
            public List<ACL> getDefaultAcl() {
                return ZooDefs.Ids.OPEN_ACL_UNSAFE;
            }

            @Override
            public List<ACL> getAclForPath(String path) {
                return path.endsWith("closed") ? ZooDefs.Ids.CREATOR_ALL_ACL : ZooDefs.Ids.OPEN_ACL_UNSAFE;
            }
        };
        CuratorFramework c = s.client(builder -> builder.aclProvider(provider).authorization("digest",
            Stage.bytes("bob:b")));
        c.create().creatingParentsIfNeeded().forPath("/closed/open/closed");
        for (String path : new String[] {"/closed", "/closed/open", "/closed/open/closed"}) {
            s.say("%s: %s", path, text(c.getACL().forPath(path)));
        }
        c.create().creatingParentsIfNeeded().withACL(ZooDefs.Ids.CREATOR_ALL_ACL, true).forPath("/given/given");
        s.say(text(c.getACL().forPath("/given")));
        s.say(Stage.outcome(() -> s.client().getChildren().forPath("/closed")));
    }

    private static String text(List<ACL> acls) {
        return acls.stream().map(acl -> String.format("%s:%s:%x", acl.getId().getScheme(), acl.getId().getId(),
            acl.getPerms()))
            .sorted().collect(Collectors.joining(", "));
    }
}
