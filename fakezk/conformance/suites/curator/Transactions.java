import java.util.Collection;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooDefs;

/** Transactions, all or nothing. */
final class Transactions {
    private Transactions() { }

    static void commit(Stage s) throws Exception {
        CuratorFramework c = s.client();
        say(s, c.transaction().forOperations(
            c.transactionOp().create().forPath("/a", Stage.bytes("x")),
            c.transactionOp().create().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/a-", new byte[0]),
            c.transactionOp().setData().withVersion(0).forPath("/a", Stage.bytes("longer")),
            c.transactionOp().check().withVersion(1).forPath("/a"),
            c.transactionOp().create().withTtl(600_000).withMode(CreateMode.PERSISTENT_WITH_TTL).forPath("/t",
                new byte[0]),
            c.transactionOp().create().withMode(CreateMode.CONTAINER).forPath("/k", new byte[0]),
            c.transactionOp().create().forPath("/a/b", new byte[0]),
            c.transactionOp().delete().forPath("/a/b")));
        s.say(Basics.sorted(c.getChildren().forPath("/")));
        s.say(Stage.text(c.getData().forPath("/a")));
    }

    /** What failed changes nothing. */
    static void rollback(Stage s) throws Exception {
        CuratorFramework c = s.client();
        c.create().forPath("/a", Stage.bytes("kept"));
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        c.getData().usingWatcher((org.apache.zookeeper.Watcher) e -> events.add(e.getType() + " " + e.getPath()))
            .forPath("/a");
        s.say(failure(c, c.transactionOp().setData().forPath("/a", Stage.bytes("changed")),
            c.transactionOp().create().forPath("/b", new byte[0]),
            c.transactionOp().check().withVersion(7).forPath("/a"),
            c.transactionOp().delete().forPath("/a")));
        s.say(failure(c, c.transactionOp().delete().forPath("/a"), c.transactionOp().delete().forPath("/a")));
        s.say(failure(c, c.transactionOp().create().forPath("/none/b", new byte[0])));
        s.say(failure(c, c.transactionOp().create().forPath("/e", new byte[0]),
            c.transactionOp().create().forPath("/e", new byte[0])));
        s.say(failure(c, c.transactionOp().create().forPath("/e", new byte[0]),
            c.transactionOp().create().forPath("/e/f", new byte[0]), c.transactionOp().delete().forPath("/e")));
        s.say(Stage.text(c.getData().forPath("/a")) + " " + Stage.text(c.checkExists().forPath("/a")));
        s.say(Basics.sorted(c.getChildren().forPath("/")));
        c.setData().forPath("/a", new byte[0]);
        s.sayNext(events, 1);
    }

    static void permissions(Stage s) throws Exception {
        CuratorFramework c = s.client();
        c.create().withACL(ZooDefs.Ids.READ_ACL_UNSAFE).forPath("/a", new byte[0]);
        s.say(failure(c, c.transactionOp().create().forPath("/b", new byte[0]),
            c.transactionOp().setData().forPath("/a", Stage.bytes("x"))));
        s.say(failure(c, c.transactionOp().check().forPath("/a"), c.transactionOp().delete().forPath("/a")));
        s.say(Basics.sorted(c.getChildren().forPath("/")));
    }

    /** In a namespace, in the background, and by the old way of writing it. */
    @SuppressWarnings("deprecation")
    static void otherWays(Stage s) throws Exception {
        CuratorFramework c = s.client().usingNamespace("n");
        BlockingQueue<String> done = new LinkedBlockingQueue<>();
        c.transaction().inBackground((client, e) -> done.add(e.getType() + " "
            + KeeperException.Code.get(e.getResultCode()) + " "
            + text(e.getOpResults()))).forOperations(c.transactionOp().create().forPath("/a", new byte[0]),
            c.transactionOp().setData().forPath("/a", new byte[1]));
        s.sayNext(done, 1);
        Collection<CuratorTransactionResult> results = c.inTransaction().create().forPath("/b", new byte[0]).and()
            .setData().forPath("/b", new byte[2]).and().check().forPath("/a").and().delete().forPath("/a").and()
                .commit();
        say(s, results);
        s.say(Stage.outcome(() -> c.transaction().forOperations(c.transactionOp().delete().forPath("/a"))));
        s.say(Basics.sorted(c.getChildren().forPath("/")));
    }

    private static void say(Stage s, Collection<CuratorTransactionResult> results) {
        for (CuratorTransactionResult r : results) {
            s.say("%s %s: %s%s", r.getType(), r.getForPath(), r.getResultPath(),
                r.getResultStat() == null ? "" : ", " + Stage.text(r.getResultStat()));
        }
    }

    /** The error of a transaction, and those of its operations. */
    private static String failure(CuratorFramework c, CuratorOp... ops) throws Exception {
        try {
            c.transaction().forOperations(ops);
            return "committed";
        } catch (KeeperException refused) {
            return refused.code() + " for " + refused.getPath() + " " + text(refused.getResults());
        }
    }

    private static String text(List<?> results) {
        return results.stream().map(Transactions::text).collect(Collectors.toList()).toString();
    }

    private static String text(Object result) {
        if (result instanceof OpResult.ErrorResult) {
            return KeeperException.Code.get(((OpResult.ErrorResult) result).getErr()).toString();
        }
        return result instanceof CuratorTransactionResult ? ((CuratorTransactionResult) result).getType().toString()
            : result.getClass().getSimpleName();
    }
}
