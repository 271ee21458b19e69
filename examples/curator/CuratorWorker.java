import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.KeeperException;
import zktorture.Worker;

/**
 * Curator's recipes as a worker of zktorture, by workers/java/Worker.java. With Debian's package
 * libcurator-recipes-java:
 *
 * <pre>
 * export CLASSPATH=/usr/share/java/curator-recipes.jar:out/curator
 * javac -d out/curator workers/java/Worker.java examples/curator/CuratorWorker.java
 * torture live lock --start 3 --recipe 'exec:java CuratorWorker'
 * </pre>
 */
final class CuratorWorker {
    public static void main(String[] args) throws Exception {
        Worker.serve(Session::new, Map.of("lock", Lock.class, "rwlock", ReadWriteLock.class,
                "semaphore", Semaphore.class, "election", Latch.class, "queue", Queue.class,
                "counter", Counter.class, "barrier", Barrier.class, "doublebarrier", DoubleBarrier.class));
    }

    static final class Session implements Worker.Session {
        private static final int CONNECT_MAX_S = 20;

        final Map<String, Object> assignment;
        final CuratorFramework client;

        Session(Map<String, Object> assignment, Consumer<String> tell) throws Exception {
            this.assignment = assignment;
            client = CuratorFrameworkFactory.newClient((String) assignment.get("servers"),
                    number("session_timeout_ms"), CONNECT_MAX_S * 1000, new ExponentialBackoffRetry(100, 3));
            client.getConnectionStateListenable().addListener((c, state) -> tell.accept(
                    state.isConnected() ? "connected" : state == ConnectionState.LOST ? "lost" : "suspended"));
            client.start();
            if (!client.blockUntilConnected(CONNECT_MAX_S, TimeUnit.SECONDS)) {
                throw new Worker.Failed("no session after " + CONNECT_MAX_S + " s");
            }
        }

        int number(String name) {
            return ((Long) assignment.get(name)).intValue();
        }

        @Override
        public long id() throws Exception {
            return client.getZookeeperClient().getZooKeeper().getSessionId();
        }

        @Override
        public boolean unknown(Exception error) {
            return error instanceof KeeperException.ConnectionLossException
                    || error instanceof KeeperException.OperationTimeoutException
                    || error instanceof KeeperException.SessionExpiredException;
        }

        @Override
        public void close() {
            client.close();
        }
    }

    static final class Lock {
        private final InterProcessMutex mutex;

        Lock(Session session, String path) {
            mutex = new InterProcessMutex(session.client, path);
        }

        public void acquire() throws Exception {
            mutex.acquire();
        }

        public boolean try_() throws Exception {
            return mutex.acquire(0, TimeUnit.SECONDS);
        }

        public void release() throws Exception {
            mutex.release();
        }
    }

    static final class ReadWriteLock {
        private final InterProcessReadWriteLock lock;

        ReadWriteLock(Session session, String path) {
            lock = new InterProcessReadWriteLock(session.client, path);
        }

        public void acquire() throws Exception {
            lock.writeLock().acquire();
        }

        public void release() throws Exception {
            lock.writeLock().release();
        }

        public void racquire() throws Exception {
            lock.readLock().acquire();
        }

        public void rrelease() throws Exception {
            lock.readLock().release();
        }
    }

    static final class Semaphore {
        private final InterProcessSemaphoreV2 semaphore;
        private Lease lease;

        Semaphore(Session session, String path) {
            semaphore = new InterProcessSemaphoreV2(session.client, path, session.number("permits"));
        }

        public void acquire() throws Exception {
            lease = semaphore.acquire();
        }

        public boolean try_() throws Exception {
            lease = semaphore.acquire(0, TimeUnit.SECONDS);
            return lease != null;
        }

        public void release() throws Exception {
            semaphore.returnLease(lease);
        }
    }

    static final class Latch {
        private final Session session;
        private final String path;
        private LeaderLatch latch;

        Latch(Session session, String path) {
            this.session = session;
            this.path = path;
        }

        public void elected() throws Exception {
            latch = new LeaderLatch(session.client, path);
            latch.start();
            try {
                latch.await();
            } catch (InterruptedException gaveUp) {
                latch.close();
                throw gaveUp;
            }
        }

        public void resigned() throws Exception {
            latch.close();
        }

        public boolean owner() {
            return latch.hasLeadership();
        }
    }

    static final class Queue {
        private final SimpleDistributedQueue queue;

        Queue(Session session, String path) {
            queue = new SimpleDistributedQueue(session.client, path);
        }

        public void offer(String item) throws Exception {
            if (!queue.offer(item.getBytes(StandardCharsets.UTF_8))) {
                throw new Worker.Failed("offer returned false");
            }
        }

        public byte[] poll() throws Exception {
            return queue.poll();
        }

        public byte[] take() throws Exception {
            return queue.take();
        }

        public byte[] peek() throws Exception {
            return queue.peek();
        }
    }

    static final class Counter {
        private final DistributedAtomicLong number;

        Counter(Session session, String path) {
            number = new DistributedAtomicLong(session.client, path, new RetryNTimes(100, 10));
        }

        public long add(long delta) throws Exception {
            return sum(number.add(delta));
        }

        public long subtract(long delta) throws Exception {
            return sum(number.subtract(delta));
        }

        public long get() throws Exception {
            return sum(number.get());
        }

        private static long sum(AtomicValue<Long> value) throws Worker.Failed {
            if (!value.succeeded()) {
                throw new Worker.Failed("it did not succeed");
            }
            return value.postValue();
        }
    }

    static final class Barrier {
        private final DistributedBarrier barrier;

        Barrier(Session session, String path) {
            barrier = new DistributedBarrier(session.client, path);
        }

        public void shut() throws Exception {
            barrier.setBarrier();
        }

        public void open() throws Exception {
            barrier.removeBarrier();
        }

        public void wait_() throws Exception {
            barrier.waitOnBarrier();
        }
    }

    /** It is made anew for each round. */
    static final class DoubleBarrier {
        private final Session session;
        private final String path;
        private DistributedDoubleBarrier barrier;

        DoubleBarrier(Session session, String path) {
            this.session = session;
            this.path = path;
        }

        public void enter() throws Exception {
            barrier = new DistributedDoubleBarrier(session.client, path, session.number("parties"));
            barrier.enter();
        }

        public void leave() throws Exception {
            barrier.leave();
        }
    }
}
