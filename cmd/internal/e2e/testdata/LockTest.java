import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryForever;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import zktorture.ZkTorture;

class LockTest {
    @RegisterExtension static ZkTorture zk = ZkTorture.start("--size", "3");

    static CuratorFramework connect() {
        CuratorFramework client = CuratorFrameworkFactory.builder().connectString(zk.connectString())
                .retryPolicy(new RetryForever(100)).ensembleTracker(false).build();
        client.start();
        return client;
    }

    static long session(CuratorFramework client) throws Exception {
        client.checkExists().forPath("/"); // now it has one
        return client.getZookeeperClient().getZooKeeper().getSessionId();
    }

    @RepeatedTest(2) void eachBeginsClean() throws Exception {
        try (CuratorFramework client = connect()) {
            assertEquals("/n-0000000000", client.create().withMode(CreateMode.PERSISTENT_SEQUENTIAL).forPath("/n-"));
            zk.ask("POST", "/lag?server=3&on=true");
            assertTrue(zk.faults().contains("{\"fault\":\"lag\",\"server\":3}"), zk.faults());
        }
    }

    @Test void aLockEndsWithItsSession() throws Exception {
        try (CuratorFramework first = connect(); CuratorFramework second = connect()) {
            assertTrue(new InterProcessMutex(first, "/lock").acquire(60, TimeUnit.SECONDS));
            zk.expire(session(first));
            assertTrue(new InterProcessMutex(second, "/lock").acquire(60, TimeUnit.SECONDS));
        }
    }

    @Test void aLostReplyIsOfWhatWasDone() throws Exception {
        try (CuratorFramework client = connect()) {
            zk.loseReply(session(client));
            // The first try has done it, and the second finds it done.
            assertThrows(KeeperException.NodeExistsException.class, () -> client.create().forPath("/once"));
        }
    }

    @Test void faultsStrike() throws Exception {
        zk.faults("expiry", 1, 7);
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(zk.connectString(), new RetryOneTime(1))) {
            client.start();
            assertThrows(KeeperException.class, () -> client.getData().forPath("/"));
        }
        assertTrue(zk.faults().contains("\"struck\":{\"expiry\":"), zk.faults());
    }

    @Test void whatIsRefusedSaysWhy() {
        Exception refused = assertThrows(IllegalArgumentException.class, () -> zk.expire(7));
        assertTrue(refused.getMessage().contains("there is no such session"), refused.getMessage());
    }
}
