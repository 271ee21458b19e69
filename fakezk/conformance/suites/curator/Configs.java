import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.curator.ensemble.fixed.FixedEnsembleProvider;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.Watcher;

/** What clients see of the ensemble's configuration, and change; on one server there is less of it. */
final class Configs {
    private Configs() { }

    /**
     * The only scenario that changes servers for all: one leaves, and clients are told. It needs its own servers. The
     * first one leaves, as new servers do not elect it: when the leader leaves, or the server that a client is at,
     * connections are closed, perhaps before the answer.
     */
    static void reconfigured(Stage s) throws Exception {
        String staying = s.servers().substring(s.servers().indexOf(',') + 1);
        CuratorFramework c = s.start(staying, builder -> builder.authorization("digest",
            Stage.bytes("super:test")));
        String now = text(c.getConfig().forEnsemble());
        s.say("\"%s\"", shown(now));
        CuratorFramework other = s.bare();
        s.say(Stage.outcome(() -> other.reconfig().leaving("1").forEnsemble()));
        s.say(Stage.outcome(() -> c.reconfig().joining("nonsense").forEnsemble()));
        s.say(Stage.outcome(() -> c.reconfig().leaving("1").fromConfig(7).forEnsemble()));
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        c.getConfig().usingWatcher((Watcher) e -> events.add(e.getType() + " " + e.getPath())).forEnsemble();
        s.say(Stage.outcome(() -> shown(text(c.reconfig().leaving("1").forEnsemble()))));
        s.sayNext(events, 1);
    }

    /** Curator follows the configuration. */
    static void tracked(Stage s) throws Exception {
        FixedEnsembleProvider provider = new FixedEnsembleProvider(s.servers());
        CuratorFramework c = s.start(s.servers(), builder -> builder.ensembleTracker(true)
            .ensembleProvider(provider));
        s.say("to connect to before: %s", provider.getConnectionString().equals(s.servers()));
        if (text(c.getConfig().forEnsemble()).contains(";")) {
            Stage.until(() -> !provider.getConnectionString().equals(s.servers()));
        }
        s.say("servers to connect to: %d", provider.getConnectionString().split(",").length);
    }

    private static String text(byte[] config) {
        return new String(config, StandardCharsets.UTF_8);
    }

    /** Without ports, and versions. */
    private static String shown(String config) {
        return config.replaceAll(":\\d{4,5}\\b", ":PORT").replaceAll("version=[0-9a-f]+", "version=N").replace("\n",
            " ");
    }
}
