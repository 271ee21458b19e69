package netns

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// wire is a device whose host is the test.
type wire struct {
	sent     chan []byte // by the host
	received chan []byte
	closed   chan struct{}
}

func newWire() *wire {
	return &wire{make(chan []byte), make(chan []byte, 1000), make(chan struct{})}
}

func (w *wire) Read(buffer []byte) (int, error) {
	select {
	case packet := <-w.sent:
		return copy(buffer, packet), nil
	case <-w.closed:
		return 0, io.EOF
	}
}

func (w *wire) Write(packet []byte) (int, error) {
	w.received <- bytes.Clone(packet)
	return len(packet), nil
}

func (w *wire) Close() error { close(w.closed); return nil }

func newWires(hosts int) (wires []*wire, f *fabric) {
	devices := make([]io.ReadWriteCloser, hosts)
	for i := range hosts {
		wires = append(wires, newWire())
		devices[i] = wires[i]
	}
	return wires, newFabric(devices)
}

// packetTo is a packet to a host, with a number in it.
func packetTo(host, number int) []byte {
	packet := make([]byte, 21)
	packet[0] = 0x45
	copy(packet[16:], addressOf(host).AsSlice())
	packet[20] = byte(number)
	return packet
}

// send sends a packet and returns when it is on its way: the device is read again after it has been forwarded, so
// the second packet, which has no receiver, is taken no sooner.
func (w *wire) send(packet []byte) {
	w.sent <- packet
	w.sent <- nil
}

func (w *wire) arrived() (packets [][]byte) {
	for {
		select {
		case packet := <-w.received:
			packets = append(packets, packet)
		default:
			return packets
		}
	}
}

// Against a reference: a packet arrives, at its receiver only, exactly if no fault that is not healed cuts its link.
func TestCutsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.IntRange(1, 5).Draw(t, "hosts")
		wires, f := newWires(hosts)
		defer f.close()
		type cut struct {
			links []Link
			heal  func()
		}
		var cuts []cut
		host := rapid.IntRange(0, hosts-1)
		link := rapid.Custom(func(t *rapid.T) Link { return Link{host.Draw(t, "from"), host.Draw(t, "to")} })
		t.Repeat(map[string]func(*rapid.T){
			"cut": func(t *rapid.T) {
				links := rapid.SliceOfN(link, 0, 6).Draw(t, "links")
				cuts = append(cuts, cut{links, f.lose(1, links)})
			},
			"heal one": func(t *rapid.T) {
				if len(cuts) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(cuts)-1).Draw(t, "which")
				cuts[i].heal()
				cuts = slices.Delete(cuts, i, i+1)
			},
			"heal all": func(*rapid.T) { f.heal(); cuts = nil },
			"send": func(t *rapid.T) {
				l, number := link.Draw(t, "link"), rapid.IntRange(0, 255).Draw(t, "number")
				packet := packetTo(l.To, number)
				wires[l.From].send(packet)
				whole := !slices.ContainsFunc(cuts, func(c cut) bool { return slices.Contains(c.links, l) })
				for i, w := range wires {
					got := w.arrived()
					if i == l.To && whole {
						if len(got) != 1 || !bytes.Equal(got[0], packet) {
							t.Fatalf("%v: %v arrived, want %v", l, got, packet)
						}
					} else if len(got) != 0 {
						t.Fatalf("%v: %v arrived at host %d", l, got, i)
					}
				}
			},
		})
	})
}

// Two faults of one half lose three quarters. The draws are the same each time, so this cannot fail by chance.
func TestShareLost(t *testing.T) {
	wires, f := newWires(2)
	defer f.close()
	link := Link{0, 1}
	f.lose(0.5, []Link{link})
	heal := f.lose(0.5, []Link{link})
	const packets = 1000
	count := func() (n int) {
		for range packets {
			wires[0].send(packetTo(1, 0))
			n += len(wires[1].arrived())
		}
		return n
	}
	if n := count(); n < 200 || n > 300 {
		t.Errorf("%d of %d packets arrived, want a quarter", n, packets)
	}
	heal()
	if n := count(); n < 450 || n > 550 {
		t.Errorf("%d of %d packets arrived, want half", n, packets)
	}
	f.heal()
	if n := count(); n != packets {
		t.Errorf("%d of %d packets arrived over a whole link", n, packets)
	}
}

// No packet, however malformed, does anything but arrive at the host that it names.
func FuzzReceiver(f *testing.F) {
	f.Add(packetTo(0, 0), 1)
	f.Add(packetTo(3, 0), 3)
	f.Add(packetTo(4, 0), 3)
	f.Add([]byte{0x45}, 3)
	f.Add(append([]byte{0x60}, make([]byte, 40)...), 5)
	f.Fuzz(func(t *testing.T, packet []byte, hosts int) {
		hosts = 1 + hosts&63
		host, ok := receiver(packet, hosts)
		if ok && (host < 0 || host >= hosts || !bytes.Equal(packet[16:20], addressOf(host).AsSlice())) {
			t.Errorf("%x is for host %d of %d", packet, host, hosts)
		}
		for i := range hosts {
			want := len(packet) >= 20 && packet[0]>>4 == 4 && bytes.Equal(packet[16:20], addressOf(i).AsSlice())
			if got := ok && host == i; got != want {
				t.Errorf("%x is for host %d: %v", packet, i, got)
			}
		}
	})
}
