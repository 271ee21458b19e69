import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Set;

/** A cable between clients and a server, which can be pulled out, and can lose a reply. */
final class Cable implements AutoCloseable {
    private static final int NONE = Integer.MIN_VALUE;

    private final ServerSocket socket = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
    private final String host;
    private final int port;
    private final Set<Socket> open = new HashSet<>();
    private boolean pulled;
    private int lost = NONE; // the type of the request whose reply is to be lost
    private int lostXid = NONE;

    Cable(String server) throws IOException {
        int colon = server.lastIndexOf(':');
        host = server.substring(0, colon);
        port = Integer.parseInt(server.substring(colon + 1));
        daemon(this::accept);
    }

    String address() {
        return "127.0.0.1:" + socket.getLocalPort();
    }

    /** Breaks all connections, and refuses others. */
    synchronized void pull() {
        pulled = true;
        cut();
    }

    synchronized void plug() {
        pulled = false;
    }

    /** Breaks all connections. */
    synchronized void cut() {
        for (Socket each : open) {
            shut(each);
        }
        open.clear();
    }

    /** Breaks the connection when the reply to the next request of a type comes, which is lost. */
    synchronized void loseReplyTo(int type) {
        lost = type;
    }

    private void accept() throws IOException {
        while (true) {
            connect(socket.accept());
        }
    }

    private synchronized void connect(Socket client) throws IOException {
        if (pulled) {
            client.close();
            return;
        }
        Socket server = new Socket(host, port);
        open.add(client);
        open.add(server);
        daemon(() -> pump(client, server, this::sent));
        daemon(() -> pump(server, client, this::answered));
    }

    private interface Gate {
        boolean passes(ByteBuffer frame);
    }

    private synchronized boolean sent(ByteBuffer frame) {
        if (lost != NONE && frame.getInt(Integer.BYTES) == lost) {
            lostXid = frame.getInt(0);
            lost = NONE;
        }
        return true;
    }

    private synchronized boolean answered(ByteBuffer frame) {
        if (lostXid == NONE || frame.getInt(0) != lostXid) {
            return true;
        }
        lostXid = NONE;
        return false;
    }

    /** Passes frames on, the first of which belongs to the handshake. */
    private static void pump(Socket from, Socket to, Gate gate) throws IOException {
        try {
            DataInputStream in = new DataInputStream(from.getInputStream());
            DataOutputStream out = new DataOutputStream(to.getOutputStream());
            for (boolean first = true;; first = false) {
                ByteBuffer frame = ByteBuffer.allocate(in.readInt());
                in.readFully(frame.array());
                if (!first && !gate.passes(frame)) {
                    return;
                }
                out.write(ByteBuffer.allocate(Integer.BYTES + frame.capacity()).putInt(frame.capacity()).put(frame)
                    .array());
            }
        } finally {
            shut(from);
            shut(to);
        }
    }

    private interface Action {
        void run() throws IOException;
    }

    private static void daemon(Action action) {
        Thread thread = new Thread(() -> {
            try {
                action.run();
            } catch (IOException over) {
                return; // one of both has hung up
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static void shut(Socket socket) {
        try {
            socket.close();
        } catch (IOException failure) {
            System.err.println("while closing a connection: " + failure);
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
        pull();
    }
}
