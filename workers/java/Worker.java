package zktorture;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Serves recipes for ZooKeeper to zktorture, which tortures and judges them, on real servers and on its own.
 *
 * <p>An adapter says how its client opens a session ({@link Session}), and has a class for each kind of recipe, with a
 * constructor of a session and the path of an object:
 *
 * <pre>
 * public class MyLock {
 *     final InterProcessMutex mutex;
 *
 *     MyLock(MySession session, String path) { mutex = new InterProcessMutex(session.client, path); }
 *
 *     public void acquire() throws Exception { mutex.acquire(); }
 *
 *     public void release() throws Exception { mutex.release(); }
 * }
 *
 * Worker.serve(MySession::new, Map.of("lock", MyLock.class)); // in main
 *
 * torture live lock --start 3 --recipe 'exec:java -cp … MyLock'
 * </pre>
 *
 * <p>The process has one session and several users. Each user has a thread, and makes an object for each path that it
 * is given. What the runner asks for are public methods of the object, by the names of docs/workers.md (but try_ and
 * wait_, as Java has other uses for these words); those that are optional there may be missing. An argument is a String
 * or a long; a result may be a byte[], too, which is a text. When the caller of an operation gives up its thread is
 * interrupted; the operation has to return within ten seconds then.
 *
 * <p>This file needs nothing but Java 11: copy it to where your worker is.
 */
public final class Worker {
    private static final int VERSION = 1; // of the protocol

    private static final List<String> OPTIONAL =
            List.of("try", "rtry", "take", "peek", "giveback", "token", "changed", "subtract", "owner");

    /** A session with ZooKeeper, which the client replaces when it is lost. */
    public interface Session {
        /** The number of the present session; 0 if there is none. */
        long id() throws Exception;

        /** Whether nobody knows if an operation has happened that has thrown this. {@link Failed} says so itself. */
        default boolean unknown(Exception error) {
            return true;
        }

        /** Ends the session. */
        void close() throws Exception;
    }

    /**
     * Connects, and returns when there is a session. The assignment has servers ("host:port,host:port"),
     * session_timeout_ms, kind; permits of a semaphore, parties of a double barrier. tell is told what becomes of the
     * session, from any thread: connected, suspended (it cannot reach its servers), lost (it is over).
     */
    public interface Connector {
        Session connect(Map<String, Object> assignment, Consumer<String> tell) throws Exception;
    }

    /** The operation failed, and surely did not happen. */
    @SuppressWarnings("serial")
    public static final class Failed extends Exception {
        public Failed(String message) {
            super(message);
        }
    }

    /** Serves classes by kind until standard input ends. What recipes print goes to standard error. */
    public static void serve(Connector connector, Map<String, Class<?>> kinds) throws Exception {
        Worker worker = new Worker(new PrintStream(System.out, true, StandardCharsets.UTF_8));
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String first = in.readLine();
        if (first == null || !worker.begin(connector, kinds, parse(first))) {
            return;
        }
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            worker.take(parse(line));
        }
        synchronized (worker) {
            worker.ready = false;
        }
        worker.session.close(); // so that the servers need not wait for its timeout
    }

    private final PrintStream out;
    private final Map<Object, User> users = new HashMap<>(); // by number
    private final Set<Object> givenUp = ConcurrentHashMap.newKeySet(); // operations, by number
    private Class<?> kind;
    private Session session;
    private boolean ready; // the first line has been written, and the session has not been ended

    private Worker(PrintStream out) {
        this.out = out;
    }

    /** Opens the session, and says that the worker is ready or why it is not. Returns whether it is. */
    private boolean begin(Connector connector, Map<String, Class<?>> kinds, Map<String, Object> assignment)
            throws Exception {
        kind = kinds.get(assignment.get("kind"));
        String why = null;
        if (!Long.valueOf(VERSION).equals(assignment.get("zktorture"))) {
            why = "the runner has version " + assignment.get("zktorture") + " of the protocol";
        } else if (kind == null) {
            why = "there is no " + assignment.get("kind") + " here: there are " + String.join(", ", kinds.keySet());
        } else {
            List<String> lacks = new ArrayList<>(List.of(((String) assignment.getOrDefault("operations", "")).split(" ")));
            lacks.removeIf(name -> name.isEmpty() || method(name) != null);
            why = lacks.isEmpty() ? null : kind.getSimpleName() + " has no method for " + String.join(", ", lacks);
        }
        if (why != null) {
            write("zktorture", VERSION, "error", why);
            return false;
        }
        session = connector.connect(assignment, this::tell);
        List<String> can = new ArrayList<>(OPTIONAL);
        can.removeIf(name -> method(name) == null);
        synchronized (this) { // so that no change of the session is missed after this line
            write("zktorture", VERSION, "can", can, "session", name(present()));
            ready = true;
        }
        return true;
    }

    /** The method of an operation, null if there is none. */
    private Method method(String operation) {
        String name = operation.matches("try|wait") ? operation + "_" : operation;
        for (Method method : kind.getMethods()) {
            if (method.getName().equals(name)) {
                method.setAccessible(true); // its class need not be public
                return method;
            }
        }
        return null;
    }

    private long present() {
        try {
            return session.id();
        } catch (Exception noSession) {
            return 0;
        }
    }

    /** A session as the protocol writes it, null if there is none. */
    private static String name(long session) {
        return session == 0 ? null : "0x" + Long.toHexString(session);
    }

    private synchronized void tell(String state) {
        if (ready) {
            write("state", state, "session", state.equals("connected") ? name(present()) : null);
        }
    }

    /** Begins to carry out a command. */
    private void take(Map<String, Object> command) {
        Object cancel = command.get("cancel");
        if (cancel != null) {
            givenUp.add(cancel);
            users.values().forEach(user -> user.giveUp(cancel));
            return;
        }
        User user = users.computeIfAbsent(command.get("user"), User::new);
        user.thread.execute(() -> user.carryOut(command));
    }

    /** A user: a thread that does one thing after the other with one object. */
    private final class User {
        final ExecutorService thread;
        private Object object;
        private Thread self;
        private Object current; // the operation under way; null: there is none

        User(Object number) {
            thread = Executors.newSingleThreadExecutor(task -> {
                self = new Thread(task, "user " + number);
                self.setDaemon(true);
                return self;
            });
        }

        private synchronized void turnTo(Object operation) {
            Thread.interrupted(); // what an earlier one was told
            current = operation;
            giveUp(operation);
        }

        synchronized void giveUp(Object operation) {
            if (operation != null && operation.equals(current) && givenUp.contains(operation)) {
                self.interrupt();
            }
        }

        void carryOut(Map<String, Object> command) {
            Object id = command.get("id");
            turnTo(id);
            // A session that is there before and after was there all the time: none comes twice.
            long before = present();
            String outcome = "ok";
            Object result = null;
            String error = null;
            try {
                result = run((String) command.get("op"), command.get("arg"));
            } catch (Exception e) { // whatever a recipe throws is its answer
                boolean unknown = e instanceof InterruptedException || session.unknown(e);
                outcome = unknown && !(e instanceof Failed) ? "unknown" : "fail";
                error = e.toString();
            }
            String in = name(before == present() ? before : 0);
            turnTo(null);
            givenUp.remove(id);
            write("id", id, "outcome", outcome, "result", result, "error", error, "session", in);
        }

        private Object run(String operation, Object argument) throws Exception {
            try {
                if (operation.equals("object")) {
                    var constructor = kind.getDeclaredConstructors()[0];
                    constructor.setAccessible(true);
                    object = constructor.newInstance(session, argument);
                    return null;
                }
                Method method = method(operation);
                return method.getParameterCount() == 0 ? method.invoke(object) : method.invoke(object, argument);
            } catch (InvocationTargetException e) {
                if (e.getCause() instanceof Exception) {
                    throw (Exception) e.getCause();
                }
                throw e;
            }
        }
    }

    /** Writes a line of names and values; those that are null are left out, but for the session. */
    private synchronized void write(Object... line) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < line.length; i += 2) {
            if (line[i + 1] != null || line[i].equals("session")) {
                text.append(text.length() == 0 ? "{" : ",").append(json(line[i])).append(':').append(json(line[i + 1]));
            }
        }
        out.println(text.append('}'));
    }

    private static String json(Object value) {
        if (value instanceof byte[]) {
            return json(new String((byte[]) value, StandardCharsets.UTF_8));
        }
        if (value instanceof List) {
            return ((List<?>) value).stream().map(Worker::json).collect(Collectors.joining(",", "[", "]"));
        }
        if (value == null || value instanceof Number || value instanceof Boolean) {
            return String.valueOf(value);
        }
        return value.toString().chars()
                .mapToObj(c -> c < ' ' || c == '"' || c == '\\' ? String.format("\\u%04x", c) : "" + (char) c)
                .collect(Collectors.joining("", "\"", "\""));
    }

    /** Reads a line of the runner: an object of texts and whole numbers. */
    private static Map<String, Object> parse(String line) {
        Map<String, Object> object = new HashMap<>();
        Matcher token = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"|[^\\s{}:,\"]+").matcher(line);
        while (token.find()) {
            String name = text(token.group(1));
            token.find();
            object.put(name, token.group(1) != null ? (Object) text(token.group(1)) : Long.valueOf(token.group()));
        }
        return object;
    }

    /** A text without its escapes. */
    private static String text(String escaped) {
        return Pattern.compile("\\\\(u(....)|.)").matcher(escaped).replaceAll(m -> {
            int plain = "nrtbf".indexOf(m.group(1));
            return Matcher.quoteReplacement(
                    m.group(2) != null ? "" + (char) Integer.parseInt(m.group(2), 16)
                            : plain < 0 ? m.group(1) : "" + "\n\r\t\b\f".charAt(plain));
        });
    }
}
