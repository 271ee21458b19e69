import java.nio.charset.StandardCharsets;
import org.apache.curator.ensemble.fixed.FixedEnsembleProvider;
import org.apache.curator.framework.CuratorFramework;

/** What clients see of the ensemble's configuration. */
final class Configs {
    private Configs() { }

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
}
