import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.KeeperException;

/**
 * Curator's InterProcessMutex and SimpleDistributedQueue as a worker of zktorture (docs/workers.md has the
 * protocol). With Debian's package libcurator-recipes-java, and without a compiler before:
 *
 * <pre>
 * torture run lock --backend ensemble --recipe 'exec:java -cp
 *     /usr/share/java/curator-recipes.jar:/usr/share/java/jackson-databind.jar examples/curator/Worker.java'
 * </pre>
 *
 * Standard input has a command a line, standard output gets an answer a line. Each user has a thread of its
 * own, as a mutex of Curator's belongs to the thread that acquired it.
 */
public final class Worker {
    private static final int VERSION = 1; // of the protocol
    private static final int CONNECT_MAX_S = 20;

    private static final ObjectMapper JSON = new ObjectMapper();

    /** An operation of a user: argument (null if it has none) to result (null if it has none). */
    private interface Operation {
        Object run(JsonNode arg) throws Exception;
    }

    /** What a user does with an object, on a thread of its own. */
    private static final class User {
        final ExecutorService thread;
        volatile Map<String, Operation> operations;
        private Thread busy; // with the operation that is under way …
        private long current; // … which is this one; 0: none is
        private long givenUp; // the last operation that was given up

        User(int number) {
            thread = Executors.newSingleThreadExecutor(task -> {
                Thread t = new Thread(task, "user " + number);
                t.setDaemon(true);
                return t;
            });
        }

        synchronized void begin(long id) {
            Thread.interrupted(); // what an earlier operation was told
            busy = Thread.currentThread();
            current = id;
            if (givenUp == id) {
                busy.interrupt();
            }
        }

        synchronized void end() {
            current = 0;
        }

        /** Interrupts an operation, or sees to it that it is interrupted when it begins. */
        synchronized void giveUp(long id) {
            givenUp = id;
            if (current == id) {
                busy.interrupt();
            }
        }
    }

    /** What recipes can do that not every recipe of their kind can, by kind. */
    private static final Map<String, List<String>> CAN = Map.of("lock", List.of("try"), "queue", List.of("take", "peek"));

    private final PrintStream out;
    private final Map<Integer, User> users = new ConcurrentHashMap<>();
    private final Map<Long, User> running = new ConcurrentHashMap<>(); // by id of the operation
    private CuratorFramework client;
    private String kind;
    private boolean ready;

    private Worker(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whoever else prints is not in the protocol
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String first = in.readLine();
        Worker worker = new Worker(out);
        if (first == null || !worker.begin(JSON.readTree(first))) {
            return;
        }
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            worker.take(JSON.readTree(line));
        }
        worker.end();
    }

    private synchronized void write(ObjectNode line) {
        out.println(line);
    }

    /** Connects, and says that it is ready or why it is not; returns whether it is. */
    private boolean begin(JsonNode assignment) throws Exception {
        ObjectNode line = JSON.createObjectNode().put("zktorture", VERSION);
        kind = assignment.get("kind").asText();
        if (assignment.get("zktorture").asInt() != VERSION) {
            write(line.put("error", "the runner has version " + assignment.get("zktorture") + " of the protocol"));
            return false;
        }
        if (!CAN.containsKey(kind)) {
            write(line.put("error", "there is no " + kind + " here: there are " + String.join(", ", CAN.keySet())));
            return false;
        }
        client = CuratorFrameworkFactory.newClient(assignment.get("servers").asText(),
                assignment.get("session_timeout_ms").asInt(), CONNECT_MAX_S * 1000, new ExponentialBackoffRetry(100, 3));
        client.getConnectionStateListenable().addListener((c, state) -> changed(state));
        client.start();
        if (!client.blockUntilConnected(CONNECT_MAX_S, TimeUnit.SECONDS)) {
            write(line.put("error", "no session after " + CONNECT_MAX_S + " s"));
            return false;
        }
        CAN.get(kind).forEach(line.putArray("can")::add);
        synchronized (this) { // so that no change of the session is missed after this line
            write(line.put("session", session()));
            ready = true;
        }
        return true;
    }

    /** The present session as the protocol writes it, null if there is none. */
    private String session() {
        try {
            long id = client.getZookeeperClient().getZooKeeper().getSessionId();
            return id == 0 ? null : "0x" + Long.toHexString(id);
        } catch (Exception noHandle) {
            return null;
        }
    }

    /** Tells what became of the session; Curator calls it from a thread of its own. */
    private synchronized void changed(ConnectionState state) {
        if (!ready) {
            return;
        }
        ObjectNode line = JSON.createObjectNode();
        switch (state) {
            case CONNECTED, RECONNECTED, READ_ONLY -> line.put("state", "connected").put("session", session());
            case SUSPENDED -> line.put("state", "suspended").put("session", (String) null);
            case LOST -> line.put("state", "lost").put("session", (String) null);
        }
        write(line);
    }

    /** Begins to carry out a command. */
    private void take(JsonNode command) {
        if (command.has("cancel")) {
            long id = command.get("cancel").asLong();
            User user = running.get(id);
            if (user != null) {
                user.giveUp(id);
            }
            return;
        }
        User user = users.computeIfAbsent(command.get("user").asInt(), User::new);
        if (command.get("op").asText().equals("object")) {
            String path = command.get("arg").asText();
            user.operations = kind.equals("lock") ? lock(path) : queue(path);
            ObjectNode answer = JSON.createObjectNode().put("id", command.get("id").asLong());
            write(answer.put("outcome", "ok").put("session", session()));
            return;
        }
        running.put(command.get("id").asLong(), user);
        user.thread.execute(() -> carryOut(user, command));
    }

    private void carryOut(User user, JsonNode command) {
        long id = command.get("id").asLong();
        ObjectNode answer = JSON.createObjectNode().put("id", id);
        user.begin(id);
        // A session that is there before and after was there all the time: none comes twice.
        String before = session();
        try {
            Object result = user.operations.get(command.get("op").asText()).run(command.get("arg"));
            answer.put("outcome", "ok");
            if (result != null) {
                answer.set("result", JSON.valueToTree(result));
            }
        } catch (Exception error) { // whatever a recipe throws is its answer
            answer.put("outcome", unknown(error) ? "unknown" : "fail").put("error", error.toString());
        }
        String after = session();
        answer.put("session", after != null && after.equals(before) ? after : null);
        user.end();
        running.remove(id);
        write(answer);
    }

    /** Whether nobody knows, after an error, whether what was asked for has happened. */
    private static boolean unknown(Exception error) {
        return error instanceof InterruptedException
                || error instanceof KeeperException.ConnectionLossException
                || error instanceof KeeperException.OperationTimeoutException
                || error instanceof KeeperException.SessionExpiredException;
    }

    private Map<String, Operation> lock(String path) {
        InterProcessMutex mutex = new InterProcessMutex(client, path);
        return Map.of(
                "acquire", arg -> {
                    mutex.acquire();
                    return null;
                },
                "try", arg -> mutex.acquire(0, TimeUnit.SECONDS),
                "release", arg -> {
                    mutex.release();
                    return null;
                });
    }

    private Map<String, Operation> queue(String path) {
        SimpleDistributedQueue queue = new SimpleDistributedQueue(client, path);
        return Map.of(
                "offer", arg -> {
                    if (!queue.offer(arg.asText().getBytes(StandardCharsets.UTF_8))) {
                        throw new IOException("offer returned false");
                    }
                    return null;
                },
                "poll", arg -> text(queue.poll()),
                "take", arg -> text(queue.take()),
                "peek", arg -> text(queue.peek()));
    }

    private static String text(byte[] item) {
        return item == null ? null : new String(item, StandardCharsets.UTF_8);
    }

    /** Ends the session, so that the servers need not wait for its timeout. */
    private void end() {
        synchronized (this) {
            ready = false;
        }
        client.close();
    }
}
