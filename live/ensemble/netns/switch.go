package netns

import (
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
)

// Link leads from one host to another, by their numbers from 0.
type Link struct{ From, To int }

// packetMax is the longest packet of IPv4, in bytes.
const packetMax = 65535

// fabric is the switch: it forwards packets between devices and loses some.
type fabric struct {
	devices []io.ReadWriteCloser
	ended   sync.WaitGroup

	mu     sync.Mutex
	faults []*fault
	share  map[Link]float64 // of the packets, which is lost
}

// fault is one call of lose.
type fault struct {
	share float64
	links []Link
}

// newFabric forwards between devices, which are those of the hosts in order.
func newFabric(devices []io.ReadWriteCloser) *fabric {
	f := &fabric{devices: devices, share: map[Link]float64{}}
	for from := range devices {
		f.ended.Go(func() { f.forward(from) })
	}
	return f
}

// lose loses a share of the packets on links until it is healed.
func (f *fabric) lose(share float64, links []Link) (heal func()) {
	lost := &fault{share, links}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, lost)
	f.update()
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.faults = slices.DeleteFunc(f.faults, func(other *fault) bool { return other == lost })
		f.update()
	}
}

// heal undoes all faults.
func (f *fabric) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
	f.update()
}

// update works out the shares: what one fault lets pass the next may lose. It needs f.mu.
func (f *fabric) update() {
	clear(f.share)
	for _, lost := range f.faults {
		for _, link := range lost.links {
			f.share[link] = 1 - (1-f.share[link])*(1-lost.share)
		}
	}
}

func (f *fabric) shareLost(link Link) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.share[link]
}

// forward carries the packets of one host until its device is closed. Packets without a receiver are lost, and those
// that a device does not take.
func (f *fabric) forward(from int) {
	draw := rand.New(rand.NewPCG(uint64(from), 0))
	buffer := make([]byte, packetMax)
	for {
		n, err := f.devices[from].Read(buffer)
		if err != nil {
			return
		}
		packet := buffer[:n]
		to, ok := receiver(packet, len(f.devices))
		if ok && draw.Float64() >= f.shareLost(Link{from, to}) {
			f.devices[to].Write(packet)
		}
	}
}

// close closes the devices and returns when forwarding has ended.
func (f *fabric) close() {
	for _, device := range f.devices {
		device.Close()
	}
	f.ended.Wait()
}

// subnet is one for documentation (RFC 5737, TEST-NET-1), so that it hides no real one.
var subnet = netip.AddrFrom4([4]byte{192, 0, 2, 0})

// addressOf returns the address of a host.
func addressOf(host int) netip.Addr {
	bytes := subnet.As4()
	bytes[3] = byte(host + 1)
	return netip.AddrFrom4(bytes)
}

// receiver returns the host with a packet's destination address (RFC 791, section 3.1); false if it is not IPv4 or
// there is none: the kernel sends such packets unasked, to multicast groups for example.
func receiver(packet []byte, hosts int) (host int, ok bool) {
	const headerMin, destination = 20, 16
	if len(packet) < headerMin || packet[0]>>4 != 4 {
		return 0, false
	}
	address := netip.AddrFrom4([4]byte(packet[destination:headerMin]))
	host = int(packet[headerMin-1]) - 1
	return host, host >= 0 && host < hosts && address == addressOf(host)
}
