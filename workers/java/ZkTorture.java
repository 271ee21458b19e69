package zktorture;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * An extension of JUnit 5: a ZooKeeper in memory (torture serve), clean for each test, that fails on request.
 *
 * <pre>
 * class LockTest {
 *     {@literal @}RegisterExtension static ZkTorture zk = ZkTorture.start("--size", "3");
 *
 *     {@literal @}Test void aLockEndsWithItsSession() throws Exception {
 *         … connect to zk.connectString(), take the lock …
 *         zk.expire(client.getZookeeperClient().getZooKeeper().getSessionId());
 *     }
 * }
 * </pre>
 *
 * <p>The program torture is the one in the PATH, or that of the system property {@code torture}. This file needs nothing
 * but Java 17 and JUnit: copy it to where your tests are.
 */
public final class ZkTorture implements BeforeEachCallback, AfterAllCallback {
    private static final HttpClient CLIENT = HttpClient.newBuilder().proxy(HttpClient.Builder.NO_PROXY).build();

    private final Process process;
    private final String connect;
    private final String control;

    private ZkTorture(Process process, String ready) {
        this.process = process;
        connect = field(ready, "connect");
        control = field(ready, "control");
    }

    /** Starts torture serve with these arguments beside --control, and returns when clients can connect. */
    public static ZkTorture start(String... arguments) {
        List<String> command = new ArrayList<>(
                List.of(System.getProperty("torture", "torture"), "serve", "--control", "127.0.0.1:0"));
        command.addAll(List.of(arguments));
        try {
            Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
            return new ZkTorture(process, process.inputReader(StandardCharsets.UTF_8).readLine());
        } catch (IOException error) {
            throw new UncheckedIOException("torture serve cannot be started: install torture, or name it by -Dtorture=", error);
        }
    }

    /** The addresses of the servers, for clients. */
    public String connectString() {
        return connect;
    }

    /** Makes everything as at the start: no znodes, sessions and faults. It is called before each test. */
    public void reset() throws IOException, InterruptedException {
        ask("POST", "/reset");
    }

    /** As reset; and these faults strike from now on: faults("loss,expiry", 10, 7) lets one request in 10 draw one. */
    public void faults(String names, int every, long seed) throws IOException, InterruptedException {
        ask("POST", "/reset?faults=" + names + "&every=" + every + "&seed=" + Long.toUnsignedString(seed));
    }

    /** What is wrong now, what may strike by itself, and what has: JSON. */
    public String faults() throws IOException, InterruptedException {
        return ask("GET", "/faults");
    }

    /** Ends a session at the servers. */
    public void expire(long session) throws IOException, InterruptedException {
        ask("POST", "/expire?session=" + name(session));
    }

    /** Cuts the connection of a session. */
    public void cut(long session) throws IOException, InterruptedException {
        ask("POST", "/cut?when=now&session=" + name(session));
    }

    /** Loses the next request of a session: it is not carried out. */
    public void loseRequest(long session) throws IOException, InterruptedException {
        ask("POST", "/cut?when=before&session=" + name(session));
    }

    /** Loses the reply to the next request of a session, which is carried out. (Curator's ensembleTracker makes some.) */
    public void loseReply(long session) throws IOException, InterruptedException {
        ask("POST", "/cut?when=after&session=" + name(session));
    }

    /** Any request of docs/reference/control.openapi.json, such as ask("POST", "/kill?server=2"). */
    public String ask(String method, String request) throws IOException, InterruptedException {
        HttpRequest asked = HttpRequest.newBuilder(URI.create(control + request))
                .method(method, HttpRequest.BodyPublishers.noBody()).build();
        HttpResponse<String> answer = CLIENT.send(asked, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() / 100 != 2) {
            throw new IllegalArgumentException(answer.body().trim());
        }
        return answer.body();
    }

    @Override
    public void beforeEach(ExtensionContext test) throws IOException, InterruptedException {
        reset();
    }

    @Override
    public void afterAll(ExtensionContext tests) {
        process.destroy();
    }

    private static String name(long session) {
        return "0x" + Long.toHexString(session);
    }

    /** A text of the first line of torture serve, in which there is nothing that is escaped. */
    private static String field(String ready, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\"([^\"]*)\"").matcher(String.valueOf(ready));
        if (!found.find()) {
            throw new IllegalStateException("torture serve said no " + name + ", but " + ready + "; see its standard error");
        }
        return found.group(1);
    }
}
