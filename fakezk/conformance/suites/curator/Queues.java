import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.queue.DistributedDelayQueue;
import org.apache.curator.framework.recipes.queue.DistributedIdQueue;
import org.apache.curator.framework.recipes.queue.DistributedPriorityQueue;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.ErrorMode;
import org.apache.curator.framework.recipes.queue.MultiItem;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.QueueSharder;
import org.apache.curator.framework.recipes.queue.QueueSharderPolicies;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;

/** Queues. */
final class Queues {
    private static final int SOON_MS = 200;

    private Queues() { }

    /** Items as texts. */
    private static final QueueSerializer<String> TEXTS = new QueueSerializer<String>() {
        @Override
        public byte[] serialize(String item) {
            return Stage.bytes(item);
        }

        @Override
        public String deserialize(byte[] bytes) {
            return new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
        }
    };

    /** What is done with an item. */
    private interface Consumer extends QueueConsumer<String> {
        @Override
        default void stateChanged(CuratorFramework client, ConnectionState state) { }
    }

    static void queue(Stage s) throws Exception {
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        CuratorFramework c = s.client();
        DistributedQueue<String> in = s.keep(QueueBuilder.builder(c, null, TEXTS, "/queue").putInBackground(false)
            .buildQueue());
        in.start();
        in.put("a");
        in.putMulti(texts("b", "c"));
        in.put("d");
        s.say("flushed: %s; %s", in.flushPuts(Stage.PATIENCE_MS, TimeUnit.MILLISECONDS),
            Basics.sorted(c.getChildren().forPath("/queue")));
        DistributedQueue<String> out = s.keep(QueueBuilder.builder(s.client(), (Consumer) got::add, TEXTS, "/queue")
            .buildQueue());
        out.start();
        s.sayNext(got, 4);
        Stage.untilChildren(c, "/queue", 0);
    }

    private static MultiItem<String> texts(String... texts) {
        java.util.Iterator<String> next = Arrays.asList(texts).iterator();
        return () -> next.hasNext() ? next.next() : null;
    }

    /** With a lock, an item that could not be consumed comes again. */
    static void lockedQueue(Stage s) throws Exception {
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        AtomicBoolean failed = new AtomicBoolean();
        CuratorFramework c = s.client();
        DistributedQueue<String> queue = s.keep(QueueBuilder.builder(c, (Consumer) item -> {
            got.add(item);
            if (item.equals("b") && !failed.getAndSet(true)) {
                throw new IllegalStateException("once");
            }
        }, TEXTS, "/queue").lockPath("/locks").buildQueue());
        queue.setErrorMode(ErrorMode.REQUEUE);
        queue.start();
        for (String item : new String[] {"a", "b"}) {
            queue.put(item);
        }
        s.saySorted(got, 3);
        Stage.untilChildren(c, "/queue", 0);
        Stage.untilChildren(c, "/locks", 0);
    }

    static void boundedQueue(Stage s) throws Exception {
        CuratorFramework c = s.client();
        DistributedQueue<String> queue = s.keep(
            QueueBuilder.builder(c, null, TEXTS, "/queue").maxItems(2).putInBackground(false).buildQueue());
        queue.start();
        s.say("%s, %s", queue.put("a", SOON_MS, TimeUnit.MILLISECONDS), queue.put("b", SOON_MS,
            TimeUnit.MILLISECONDS));
        Stage.until(() -> !queue.put("c", SOON_MS, TimeUnit.MILLISECONDS));
        s.say("full");
    }

    static void idQueue(Stage s) throws Exception {
        CuratorFramework c = s.client();
        DistributedIdQueue<String> queue = s.keep(QueueBuilder.builder(c, null, TEXTS, "/queue")
            .putInBackground(false).buildIdQueue());
        queue.start();
        queue.put("a", "x");
        queue.put("b", "y");
        queue.put("c", "x");
        s.say(Basics.sorted(c.getChildren().forPath("/queue")));
        s.say("removed: %d, %d", queue.remove("x"), queue.remove("none"));
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        DistributedIdQueue<String> out = s.keep(QueueBuilder.builder(s.client(), (Consumer) got::add, TEXTS,
            "/queue").buildIdQueue());
        out.start();
        s.sayNext(got, 1);
    }

    static void priorityQueue(Stage s) throws Exception {
        CuratorFramework c = s.client();
        DistributedPriorityQueue<String> in = s.keep(
            QueueBuilder.builder(c, null, TEXTS, "/queue").putInBackground(false).buildPriorityQueue(0));
        in.start();
        int[] priorities = {5, -1, 3, 100};
        for (int priority : priorities) {
            in.put("of priority " + priority, priority);
        }
        s.say(Basics.sorted(c.getChildren().forPath("/queue")));
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        DistributedPriorityQueue<String> out = s.keep(
            QueueBuilder.builder(s.client(), (Consumer) got::add, TEXTS, "/queue").buildPriorityQueue(0));
        out.start();
        s.sayNext(got, priorities.length);
    }

    static void delayQueue(Stage s) throws Exception {
        DistributedDelayQueue<String> in = s.keep(
            QueueBuilder.builder(s.client(), null, TEXTS, "/queue").putInBackground(false).buildDelayQueue());
        in.start();
        long now = System.currentTimeMillis();
        in.put("later", now + 1500);
        in.put("soon", now + 500);
        in.put("now", now - 1000);
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        DistributedDelayQueue<String> out = s.keep(
            QueueBuilder.builder(s.client(), (Consumer) got::add, TEXTS, "/queue").buildDelayQueue());
        out.start();
        s.sayNext(got, 3);
        s.say("waited: %s", System.currentTimeMillis() >= now + 1500);
    }

    static void sharder(Stage s) throws Exception {
        CuratorFramework c = s.client();
        QueueSharder<String, DistributedQueue<String>> sharder = s.keep(new QueueSharder<>(c,
            (client, path) -> QueueBuilder.builder(client, (Consumer) item -> { }, TEXTS, path).buildQueue(),
                "/queues", "/leader",
            QueueSharderPolicies.builder().build()));
        sharder.start();
        sharder.getQueue().put("a");
        s.say("shards: %d", sharder.getShardQty());
    }

    static void simpleQueue(Stage s) throws Exception {
        CuratorFramework c = s.client();
        SimpleDistributedQueue one = new SimpleDistributedQueue(c, "/queue");
        SimpleDistributedQueue two = new SimpleDistributedQueue(s.client(), "/queue");
        s.say("empty: %s, %s, %s", one.poll(), one.peek(), Stage.outcome(two::remove));
        for (String item : new String[] {"a", "b", "c"}) {
            one.offer(Stage.bytes(item));
        }
        List<byte[]> items = Arrays.asList(two.peek(), two.poll(), one.remove(), two.element(), one.take());
        for (byte[] each : items) {
            s.say(Stage.text(each));
        }
        s.say("empty: %s", two.poll(SOON_MS, TimeUnit.MILLISECONDS));
        Future<byte[]> taken = Stage.go(two::take);
        one.offer(Stage.bytes("d"));
        s.say(Stage.text(Stage.get(taken)));
    }
}
