import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;

/**
 * Uses all of Curator on a ZooKeeper and prints what came of it, which is the same on every one that behaves alike.
 *
 * <pre>java [-Dcontrol=URL] Suite CONNECT-STRING [PATTERN]</pre>
 *
 * A scenario is a static method of a topic, and takes a Stage. Each has a root of its own, and several run at a time;
 * they are printed in the order of their names. PATTERN is a regular expression for those to run. The exit status is
 * 1 if one of them failed.
 */
public final class Suite {
    private static final int AT_A_TIME = 16;
    private static final long SCENARIO_MAX_MS = 2 * Stage.PATIENCE_MS;
    private static final List<Class<?>> TOPICS = Arrays.asList(Acls.class, Barriers.class, Basics.class, Caches.class,
        Configs.class, Counters.class, Leaders.class, Locks.class, Nodes.class, Queues.class, Reaping.class,
            Sessions.class,
        Transactions.class, Watches.class);

    private Suite() { }

    public static void main(String[] args) throws Exception {
        Pattern wanted = Pattern.compile(args.length > 1 ? args[1] : "");
        ExecutorService threads = Executors.newFixedThreadPool(AT_A_TIME);
        Map<String, Future<String>> results = new TreeMap<>();
        for (Map.Entry<String, Method> scenario : scenarios().entrySet()) {
            String name = scenario.getKey();
            if (wanted.matcher(name).find()) {
                results.put(name, threads.submit(() -> play(args[0], name, scenario.getValue())));
            }
        }
        boolean failed = false;
        for (Map.Entry<String, Future<String>> result : results.entrySet()) {
            String said = await(result.getValue());
            System.out.print(result.getKey() + "\n" + said);
            failed |= said.contains(FAILED);
        }
        System.out.flush();
        Runtime.getRuntime().halt(failed ? 1 : 0); // Curator's threads need not end
    }

    private static final String FAILED = "  FAILED: ";

    private static String await(Future<String> result) throws Exception {
        try {
            return result.get(SCENARIO_MAX_MS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException hangs) {
            Thread.getAllStackTraces().forEach((thread, at) -> System.err.println(thread + " "
                + Arrays.toString(at)));
            return FAILED + "it hangs\n";
        }
    }

    private static Map<String, Method> scenarios() {
        Map<String, Method> found = new TreeMap<>();
        for (Class<?> topic : TOPICS) {
            for (Method method : topic.getDeclaredMethods()) {
                if (!method.isSynthetic() && Arrays.equals(method.getParameterTypes(),
                    new Class<?>[] {Stage.class})) {
                    found.put(topic.getSimpleName() + "." + method.getName(), method);
                }
            }
        }
        return found;
    }

    private static String play(String servers, String name, Method scenario) {
        Stage stage = new Stage(servers, "/" + name);
        try (stage) {
            stage.open();
            scenario.setAccessible(true);
            scenario.invoke(null, stage);
        } catch (Throwable failure) {
            Throwable cause = failure.getCause() == null ? failure : failure.getCause();
            cause.printStackTrace();
            return stage.said() + FAILED + cause + "\n";
        }
        return stage.said();
    }
}
