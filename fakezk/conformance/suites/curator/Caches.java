import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheBridge;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.cache.NodeCache;
import org.apache.curator.framework.recipes.cache.PathChildrenCache;
import org.apache.curator.framework.recipes.cache.TreeCache;

/** Copies of znodes that follow them. */
@SuppressWarnings("deprecation")
final class Caches {
    private Caches() { }

    static void curatorCache(Stage s) throws Exception {
        CuratorFramework c = s.client();
        c.create().creatingParentsIfNeeded().forPath("/a/b", Stage.bytes("x"));
        CuratorCache cache = s.keep(CuratorCache.build(c, "/a"));
        BlockingQueue<String> told = listen(cache);
        cache.start();
        s.saySorted(told, 2);
        s.sayNext(told, 1);
        CuratorFramework other = s.client();
        other.setData().forPath("/a/b", Stage.bytes("changed"));
        s.sayNext(told, 1);
        other.create().forPath("/a/c", Stage.bytes("y"));
        s.sayNext(told, 1);
        other.create().forPath("/a/c/d", Stage.bytes("z"));
        s.sayNext(told, 1);
        other.delete().deletingChildrenIfNeeded().forPath("/a/c");
        s.sayNext(told, 2);
        s.say("%d cached, %s", cache.size(), data(cache.get("/a/b").orElse(null)));
    }

    private static BlockingQueue<String> listen(CuratorCache cache) {
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        cache.listenable().addListener(CuratorCacheListener.builder().forAll(
            (type, before, after) -> told.add(type + " " + data(before) + " to " + data(after)))
            .forInitialized(() -> told.add("initialized")).build());
        return told;
    }

    private static String data(ChildData data) {
        return data == null ? "nothing" : data.getPath() + " " + Stage.text(data.getData()) + " version "
            + data.getStat().getVersion();
    }

    static void curatorCacheOfOne(Stage s) throws Exception {
        CuratorFramework c = s.client();
        CuratorCache cache = s.keep(CuratorCache.build(c, "/a", CuratorCache.Options.SINGLE_NODE_CACHE,
            CuratorCache.Options.COMPRESSED_DATA));
        BlockingQueue<String> told = listen(cache);
        cache.start();
        s.sayNext(told, 1);
        c.create().compressed().forPath("/a", Stage.bytes("packed"));
        s.sayNext(told, 1);
        c.create().forPath("/a/child");
        c.delete().deletingChildrenIfNeeded().forPath("/a");
        s.sayNext(told, 1);
    }

    /** What was missed is found out. */
    static void curatorCacheAway(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework c = s.via(cable, 10_000);
        CuratorFramework other = s.client();
        for (String path : new String[] {"/a", "/a/changed", "/a/deleted", "/a/same"}) {
            other.create().forPath(path, Stage.bytes("x"));
        }
        CuratorCache cache = s.keep(CuratorCache.build(c, "/a"));
        BlockingQueue<String> told = listen(cache);
        cache.start();
        s.saySorted(told, 5);
        Watches.away(c, cable, () -> {
            other.setData().forPath("/a/changed", Stage.bytes("y"));
            other.delete().forPath("/a/deleted");
            other.create().forPath("/a/created", Stage.bytes("z"));
        });
        s.saySorted(told, 3);
        s.say("%d cached", cache.size());
    }

    static void cacheBridge(Stage s) throws Exception {
        CuratorFramework c = s.client();
        c.create().creatingParentsIfNeeded().forPath("/a/b", Stage.bytes("x"));
        CountDownLatch initialized = new CountDownLatch(1);
        CuratorCacheBridge bridge = s.keep(CuratorCache.bridgeBuilder(c, "/a").build());
        bridge.listenable().addListener(CuratorCacheListener.builder().forInitialized(initialized::countDown)
            .build());
        bridge.start();
        initialized.await();
        s.say("of the server: %s, %d cached", bridge.isCuratorCache(), bridge.size());
    }

    static void nodeCache(Stage s) throws Exception {
        CuratorFramework c = s.client();
        CuratorFramework other = s.client();
        NodeCache cache = s.keep(new NodeCache(c, "/a"));
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        cache.getListenable().addListener(() -> told.add(data(cache.getCurrentData())));
        cache.start(true);
        s.say(data(cache.getCurrentData()));
        other.create().forPath("/a", Stage.bytes("x"));
        s.sayNext(told, 1);
        other.setData().forPath("/a", Stage.bytes("y"));
        s.sayNext(told, 1);
        other.delete().forPath("/a");
        s.sayNext(told, 1);
        cache.rebuild();
        s.say(data(cache.getCurrentData()));
    }

    static void pathChildrenCache(Stage s) throws Exception {
        CuratorFramework c = s.client();
        CuratorFramework other = s.client();
        c.create().creatingParentsIfNeeded().forPath("/a/b", Stage.bytes("x"));
        PathChildrenCache cache = s.keep(new PathChildrenCache(c, "/a", true));
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        cache.getListenable().addListener((client, e) -> told.add(e.getType() + " " + data(e.getData())));
        cache.start(PathChildrenCache.StartMode.POST_INITIALIZED_EVENT);
        s.sayNext(told, 2);
        other.setData().forPath("/a/b", Stage.bytes("y"));
        s.sayNext(told, 1);
        other.create().forPath("/a/c", Stage.bytes("z"));
        s.sayNext(told, 1);
        other.delete().forPath("/a/b");
        s.sayNext(told, 1);
        s.say("%d cached, %s", cache.getCurrentData().size(), data(cache.getCurrentData("/a/c")));
    }

    static void treeCache(Stage s) throws Exception {
        CuratorFramework c = s.client();
        c.create().creatingParentsIfNeeded().forPath("/a/b", Stage.bytes("x"));
        TreeCache cache = s.keep(TreeCache.newBuilder(c, "/a").setMaxDepth(2).build());
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        cache.getListenable().addListener((client, e) -> told.add(e.getType() + " " + data(e.getData())));
        cache.start();
        s.sayNext(told, 3);
        CuratorFramework other = s.client();
        other.setData().forPath("/a/b", Stage.bytes("y"));
        s.sayNext(told, 1);
        other.create().forPath("/a/b/c", Stage.bytes("z"));
        s.sayNext(told, 1);
        other.create().forPath("/a/b/c/too-deep", Stage.bytes("z"));
        other.delete().deletingChildrenIfNeeded().forPath("/a/b");
        s.saySorted(told, 2);
        s.say(cache.getCurrentChildren("/a").keySet().toString());
    }

    /** The copy outlives the session. */
    static void treeCacheAfterExpiry(Stage s) throws Exception {
        CuratorFramework c = s.client();
        CuratorFramework other = s.client();
        c.create().creatingParentsIfNeeded().forPath("/a/b", Stage.bytes("x"));
        TreeCache cache = s.keep(new TreeCache(c, "/a"));
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        cache.getListenable().addListener((client, e) -> {
            if (e.getData() != null) {
                told.add(e.getType() + " " + data(e.getData()));
            }
        });
        cache.start();
        s.sayNext(told, 2);
        s.expire(c);
        other.setData().forPath("/a/b", Stage.bytes("y"));
        s.sayNext(told, 1);
        Stage.until(() -> c.getZookeeperClient().isConnected());
        other.create().forPath("/a/c", Stage.bytes("z"));
        s.sayNext(told, 1);
    }
}
