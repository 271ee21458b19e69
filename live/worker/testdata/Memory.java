import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import zktorture.Worker;

/** A queue in memory. What is offered says what becomes of the offer. */
final class Memory {
    public static void main(String[] args) throws Exception {
        Worker.serve((assignment, tell) -> new Session(tell), Map.of("queue", Queue.class, "counter", Counter.class, "own", Own.class));
    }

    static final class Session implements Worker.Session {
        final Consumer<String> tell;
        volatile long number = 10;

        Session(Consumer<String> tell) {
            this.tell = tell;
        }

        @Override
        public long id() {
            return number;
        }

        @Override
        public boolean unknown(Exception error) {
            return error.getMessage().equals("lost");
        }

        @Override
        public void close() {}
    }

    static final class Queue {
        private static final LinkedBlockingQueue<String> items = new LinkedBlockingQueue<>();
        private final Session session;

        Queue(Session session, String path) {
            this.session = session;
        }

        public void offer(String item) throws Exception {
            System.out.println("offered " + item);
            if (item.equals("fail") || item.equals("unknown")) {
                throw new Exception(item.equals("fail") ? "refused" : "lost");
            }
            if (item.equals("expire")) {
                session.tell.accept("suspended");
                session.tell.accept("lost");
                session.number++;
                session.tell.accept("connected");
            }
            items.add(item);
        }

        public byte[] poll() {
            String item = items.poll();
            return item == null ? null : item.getBytes(StandardCharsets.UTF_8);
        }

        public String take() throws InterruptedException {
            return items.take();
        }
    }

    /** A recipe of a kind of a user's own. */
    static final class Own {
        Own(Session session, String path) {}

        public String echo(String text) {
            return text;
        }

        public int size() {
            return 7;
        }
    }

    /** A counter that cannot be read. */
    static final class Counter {
        public long add(long delta) {
            return delta;
        }
    }
}
