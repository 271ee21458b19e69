import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryUntilElapsed;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** What a scenario plays on: clients below a root of its own, and a text of what came of it. */
final class Stage implements AutoCloseable {
    static final int PATIENCE_MS = 30_000; // a busy machine's
    static final int SHORT_MS = 3_000; // a session that is to end by silence
    static final int SESSION_MS = 10_000;
    private static final int RETRY_MS = 100;

    private final String servers;
    private final String root;
    private final StringBuffer said = new StringBuffer();
    private final Deque<AutoCloseable> open = new ArrayDeque<>();

    Stage(String servers, String root) {
        this.servers = servers;
        this.root = root;
    }

    /** Makes the root. */
    void open() throws Exception {
        bare().create().forPath(root, new byte[0]);
    }

    String said() {
        return said.toString();
    }

    /** Adds a line. */
    void say(String format, Object... args) {
        said.append("  ").append(args.length == 0 ? format : String.format(format, args)).append('\n');
    }

    /** Adds a line for each of what comes next, and fails if it does not come. */
    void sayNext(BlockingQueue<String> coming, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            say(next(coming));
        }
    }

    /** The same, in alphabetical order, as their order is open. */
    void saySorted(BlockingQueue<String> coming, int count) throws Exception {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            lines.add(next(coming));
        }
        Collections.sort(lines);
        lines.forEach(this::say);
    }

    static String next(BlockingQueue<String> coming) throws Exception {
        String line = coming.poll(PATIENCE_MS, TimeUnit.MILLISECONDS);
        if (line == null) {
            throw new TimeoutException("nothing more came");
        }
        return line;
    }

    /** What an action returns, or the error that it ends with. */
    static String outcome(Callable<?> action) throws Exception {
        try {
            return text(action.call());
        } catch (KeeperException refused) {
            return refused.code().toString();
        } catch (Exception other) {
            return other.getClass().getSimpleName();
        }
    }

    static String text(Object value) {
        if (value instanceof byte[]) {
            return '"' + new String((byte[]) value, StandardCharsets.UTF_8) + '"';
        }
        return value instanceof Stat ? text((Stat) value) : String.valueOf(value);
    }

    static String text(Stat stat) {
        return String.format("version %d, children's %d, ACL's %d; %d bytes, %d children%s", stat.getVersion(),
            stat.getCversion(),
            stat.getAversion(), stat.getDataLength(), stat.getNumChildren(), stat.getEphemeralOwner() == 0 ? ""
                : ", owned");
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** A connected client in the root. */
    CuratorFramework client() throws Exception {
        return client(builder -> { });
    }

    CuratorFramework client(Consumer<CuratorFrameworkFactory.Builder> more) throws Exception {
        return start(servers + root, more);
    }

    /** A client that sees the whole tree. */
    CuratorFramework bare() throws Exception {
        return start(servers, builder -> { });
    }

    /** A client in the root, by way of a cable. */
    CuratorFramework via(Cable cable, int sessionMs) throws Exception {
        return start(cable.address() + root, builder -> builder.sessionTimeoutMs(sessionMs));
    }

    CuratorFramework start(String connect, Consumer<CuratorFrameworkFactory.Builder> more) throws Exception {
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder().connectString(connect)
            .sessionTimeoutMs(SESSION_MS).connectionTimeoutMs(PATIENCE_MS)
                .retryPolicy(new RetryUntilElapsed(PATIENCE_MS, RETRY_MS))
            .ensembleTracker(false);
        more.accept(builder);
        CuratorFramework client = keep(builder.build());
        client.start();
        client.blockUntilConnected();
        return client;
    }

    Cable cable() throws Exception {
        return keep(new Cable(servers.split(",")[0]));
    }

    String servers() {
        return servers;
    }

    String root() {
        return root;
    }

    /** Has something closed at the end, before what was kept earlier. */
    synchronized <T extends AutoCloseable> T keep(T closed) {
        open.push(closed);
        return closed;
    }

    /** Starts a thread. */
    static <T> Future<T> go(Callable<T> action) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                result.complete(action.call());
            } catch (Throwable failure) {
                result.completeExceptionally(failure);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return result;
    }

    static <T> T get(Future<T> future) throws Exception {
        try {
            return future.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException failure) {
            throw failure.getCause() instanceof Exception ? (Exception) failure.getCause() : failure;
        }
    }

    /** Waits until something is so. */
    static void until(Callable<Boolean> so) throws Exception {
        for (long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS); !so.call();) {
            if (System.nanoTime() > end) {
                throw new TimeoutException("it did not come about");
            }
            Thread.sleep(10);
        }
    }

    /** Waits until a path has so many children. */
    static void untilChildren(CuratorFramework client, String path, int count) throws Exception {
        until(() -> {
            Stat stat = client.checkExists().forPath(path);
            return stat != null && stat.getNumChildren() == count;
        });
    }

    /** The states that a connected client goes through from now on. */
    static BlockingQueue<String> states(CuratorFramework client) {
        BlockingQueue<String> states = new LinkedBlockingQueue<>();
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (state != ConnectionState.CONNECTED) { // which may be told late
                states.add(state.name());
            }
        });
        return states;
    }

    static void until(BlockingQueue<String> states, ConnectionState wanted) throws Exception {
        while (!next(states).equals(wanted.name())) {
            continue;
        }
    }

    /** Ends a client's session at the servers: by their control port, if there is one. */
    void expire(CuratorFramework client) throws Exception {
        String control = System.getProperty("control");
        if (control == null) {
            expireByTwin(client);
            return;
        }
        long session = client.getZookeeperClient().getZooKeeper().getSessionId();
        URL url = new URL(String.format("%s/expire?session=0x%x", control, session));
        HttpURLConnection request = (HttpURLConnection) url.openConnection();
        request.setRequestMethod("POST");
        if (request.getResponseCode() != HttpURLConnection.HTTP_NO_CONTENT) {
            throw new IllegalStateException(url + ": " + request.getResponseMessage());
        }
    }

    /**
     * Ends a client's session as its owner can: another handle takes it over, and closes it. The client may take it
     * back before: so it is done until a handle is told that there is no such session.
     */
    void expireByTwin(CuratorFramework client) throws Exception {
        ZooKeeper handle = client.getZookeeperClient().getZooKeeper();
        for (KeeperState told = null; told != KeeperState.Expired;) {
            CompletableFuture<KeeperState> answer = new CompletableFuture<>();
            ZooKeeper twin = new ZooKeeper(servers, SESSION_MS, event -> {
                if (event.getState() == KeeperState.SyncConnected || event.getState() == KeeperState.Expired) {
                    answer.complete(event.getState());
                }
            }, handle.getSessionId(), handle.getSessionPasswd());
            told = get(answer);
            twin.close();
        }
    }

    @Override
    public synchronized void close() {
        for (AutoCloseable each : open) {
            try {
                each.close();
            } catch (Exception failure) {
                System.err.println("while closing: " + failure);
            }
        }
    }
}
