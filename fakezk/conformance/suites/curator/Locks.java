import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphore;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Locker;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.shared.SharedCount;

/** Locks and semaphores. */
final class Locks {
    private static final int SOON_MS = 200; // a wait in vain

    private Locks() { }

    static void mutexExcludes(Stage s) throws Exception {
        excludes(s, new InterProcessMutex(s.client(), "/lock"), new InterProcessMutex(s.client(), "/lock"));
    }

    static void semaphoreMutexExcludes(Stage s) throws Exception {
        InterProcessSemaphoreMutex lock = new InterProcessSemaphoreMutex(s.client(), "/lock");
        excludes(s, lock, new InterProcessSemaphoreMutex(s.client(), "/lock"));
        s.say("not reentrant: %s", soon(lock));
    }

    static void writeLockExcludes(Stage s) throws Exception {
        excludes(s, new InterProcessReadWriteLock(s.client(), "/lock").writeLock(),
            new InterProcessReadWriteLock(s.client(), "/lock").writeLock());
    }

    /** Ends with the first lock held. */
    private static void excludes(Stage s, InterProcessLock one, InterProcessLock two) throws Exception {
        one.acquire();
        s.say("first: %s, second: %s", one.isAcquiredInThisProcess(), Stage.get(Stage.go(() -> soon(two))));
        CountDownLatch done = new CountDownLatch(1);
        Future<?> second = Stage.go(() -> {
            two.acquire();
            s.say("second: it has it");
            done.await();
            two.release();
            return null;
        });
        one.release();
        Stage.until(two::isAcquiredInThisProcess);
        s.say("first: %s", soon(one));
        done.countDown();
        Stage.get(second);
        s.say("first: %s", one.acquire(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS));
    }

    private static boolean soon(InterProcessLock lock) throws Exception {
        return lock.acquire(SOON_MS, TimeUnit.MILLISECONDS);
    }

    static void mutexIsReentrant(Stage s) throws Exception {
        CuratorFramework c = s.client();
        InterProcessMutex lock = new InterProcessMutex(c, "/lock");
        lock.acquire();
        lock.acquire();
        s.say("owned: %s, participants: %d", lock.isOwnedByCurrentThread(), lock.getParticipantNodes().size());
        s.say("another thread's release: %s", Stage.get(Stage.go(() -> Stage.outcome(() -> release(lock)))));
        lock.release();
        s.say("owned: %s", lock.isOwnedByCurrentThread());
        lock.release();
        s.say("owned: %s, participants: %d", lock.isOwnedByCurrentThread(), lock.getParticipantNodes().size());
        s.say("once too often: %s", Stage.outcome(() -> release(lock)));
    }

    private static Object release(InterProcessLock lock) throws Exception {
        lock.release();
        return "released";
    }

    static void mutexIsFair(Stage s) throws Exception {
        CuratorFramework c = s.client();
        InterProcessMutex first = new InterProcessMutex(c, "/lock");
        first.acquire();
        List<Future<?>> waiting = new ArrayList<>();
        for (int i = 1; i <= 4; i++) {
            int number = i;
            InterProcessMutex lock = new InterProcessMutex(i % 2 == 0 ? c : s.client(), "/lock");
            waiting.add(Stage.go(() -> {
                lock.acquire();
                s.say("waiter %d", number);
                lock.release();
                return null;
            }));
            Stage.untilChildren(c, "/lock", i + 1);
        }
        first.release();
        for (Future<?> each : waiting) {
            Stage.get(each);
        }
        s.say(Stage.text(c.checkExists().forPath("/lock")).replaceAll("children's \\d+", "children's"));
    }

    static void mutexIsRevoked(Stage s) throws Exception {
        CuratorFramework c = s.client();
        BlockingQueue<String> asked = new LinkedBlockingQueue<>();
        InterProcessMutex lock = new InterProcessMutex(s.client(), "/lock");
        lock.makeRevocable(l -> asked.add("asked to release"));
        lock.acquire();
        Collection<String> nodes = lock.getParticipantNodes();
        Revoker.attemptRevoke(c, nodes.iterator().next());
        s.sayNext(asked, 1);
        lock.release();
        s.say(Stage.outcome(() -> new InterProcessMutex(c, "/lock").acquire(Stage.PATIENCE_MS,
            TimeUnit.MILLISECONDS)));
    }

    /** Whoever waits gets the lock of a session that has ended, and its holder cannot release it. */
    static void mutexAfterExpiry(Stage s) throws Exception {
        CuratorFramework holder = s.client();
        InterProcessMutex lock = new InterProcessMutex(holder, "/lock");
        InterProcessMutex next = new InterProcessMutex(s.client(), "/lock");
        lock.acquire();
        Future<?> waiting = Stage.go(() -> {
            next.acquire();
            return null;
        });
        Stage.untilChildren(holder, "/lock", 2);
        s.expire(holder);
        Stage.get(waiting);
        s.say("second: it has it; the first believes: %s", lock.isAcquiredInThisProcess());
        s.say("release: %s", Stage.outcome(() -> release(lock)));
        s.say("participants: %d", next.getParticipantNodes().size());
    }

    /** The connection breaks while the lock is asked for: no node stays behind. */
    static void mutexInspiteOfLoss(Stage s) throws Exception {
        Cable cable = s.cable();
        CuratorFramework c = s.via(cable, 10_000);
        InterProcessMutex lock = new InterProcessMutex(c, "/lock");
        lock.acquire();
        lock.release();
        cable.loseReplyTo(org.apache.zookeeper.ZooDefs.OpCode.create);
        lock.acquire();
        s.say("participants: %d", lock.getParticipantNodes().size());
        cable.loseReplyTo(org.apache.zookeeper.ZooDefs.OpCode.delete);
        lock.release();
        s.say("participants: %d", lock.getParticipantNodes().size());
    }

    static void locker(Stage s) throws Exception {
        InterProcessMutex lock = new InterProcessMutex(s.client(), "/lock");
        try (Locker locker = new Locker(lock, Stage.PATIENCE_MS, TimeUnit.MILLISECONDS)) {
            s.say("held: %s", lock.isAcquiredInThisProcess());
        }
        s.say("held: %s", lock.isAcquiredInThisProcess());
    }

    static void readersShare(Stage s) throws Exception {
        InterProcessReadWriteLock one = new InterProcessReadWriteLock(s.client(), "/lock", Stage.bytes("data"));
        InterProcessReadWriteLock two = new InterProcessReadWriteLock(s.client(), "/lock");
        s.say("readers: %s, %s", soon(one.readLock()), soon(two.readLock()));
        s.say("a writer beside its own reader: %s", soon(one.writeLock()));
        s.say("a writer beside readers: %s", Stage.get(Stage.go(() -> soon(two.writeLock()))));
        s.say("data of the readers: %s", Stage.text(s.client().getData().forPath(one.readLock()
            .getParticipantNodes().iterator().next())));
        one.readLock().release();
        two.readLock().release();
        s.say("a writer: %s", soon(one.writeLock()));
        s.say("its own reader: %s", soon(one.readLock()));
        one.writeLock().release();
        s.say("another reader: %s", soon(two.readLock()));
    }

    static void multiLock(Stage s) throws Exception {
        CuratorFramework c = s.client();
        InterProcessMutex other = new InterProcessMutex(s.client(), "/b");
        InterProcessMultiLock all = new InterProcessMultiLock(c, Arrays.asList("/a", "/b", "/c"));
        other.acquire();
        s.say("with one of three held: %s", Stage.get(Stage.go(() -> soon(all))));
        s.say("nodes of the first: %d", c.checkExists().forPath("/a").getNumChildren());
        other.release();
        s.say("with all free: %s", all.acquire(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS));
        s.say("one of three: %s", soon(other));
        all.release();
        s.say("one of three: %s", soon(other));
    }

    static void semaphore(Stage s) throws Exception {
        CuratorFramework c = s.client();
        InterProcessSemaphoreV2 one = new InterProcessSemaphoreV2(c, "/semaphore", 3);
        InterProcessSemaphoreV2 two = new InterProcessSemaphoreV2(s.client(), "/semaphore", 3);
        one.setNodeData(Stage.bytes("mine"));
        Lease lease = one.acquire();
        s.say("data of the lease: %s", Stage.text(lease.getData()));
        Collection<Lease> leases = two.acquire(2);
        s.say("leases: %d, participants: %d", 1 + leases.size(), two.getParticipantNodes().size());
        s.say("one more: %s", one.acquire(SOON_MS, TimeUnit.MILLISECONDS));
        Future<Lease> waiting = Stage.go(one::acquire);
        two.returnAll(leases);
        s.say("one more: %s", Stage.get(waiting) != null);
        s.say("two: %s", two.acquire(2, SOON_MS, TimeUnit.MILLISECONDS));
        one.returnLease(lease);
        s.say("two: %d", two.acquire(2, Stage.PATIENCE_MS, TimeUnit.MILLISECONDS).size());
    }

    @SuppressWarnings("deprecation")
    static void semaphoreOfOld(Stage s) throws Exception {
        InterProcessSemaphore one = new InterProcessSemaphore(s.client(), "/semaphore", 1);
        InterProcessSemaphore two = new InterProcessSemaphore(s.client(), "/semaphore", 1);
        Lease lease = one.acquire();
        s.say("second: %s", two.acquire(SOON_MS, TimeUnit.MILLISECONDS));
        one.returnLease(lease);
        s.say("second: %s", two.acquire(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS) != null);
    }

    static void semaphoreByCount(Stage s) throws Exception {
        CuratorFramework c = s.client();
        SharedCount count = s.keep(new SharedCount(c, "/count", 1));
        count.start();
        InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(c, "/semaphore", count);
        Lease lease = semaphore.acquire();
        Future<Lease> waiting = Stage.go(semaphore::acquire);
        s.say("second: %s", waiting.isDone());
        count.setCount(2);
        s.say("second: %s", Stage.get(waiting) != null);
        semaphore.returnLease(lease);
    }

    static void semaphoreAfterExpiry(Stage s) throws Exception {
        CuratorFramework holder = s.client();
        InterProcessSemaphoreV2 one = new InterProcessSemaphoreV2(holder, "/semaphore", 1);
        InterProcessSemaphoreV2 two = new InterProcessSemaphoreV2(s.client(), "/semaphore", 1);
        Lease lease = one.acquire();
        Future<Lease> waiting = Stage.go(two::acquire);
        s.expire(holder);
        s.say("second: %s", Stage.get(waiting) != null);
        one.returnLease(lease);
        s.say("participants: %d", two.getParticipantNodes().size());
    }
}
