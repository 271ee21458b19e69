package workload

import (
	"reflect"

	"github.com/zktorture/zktorture/internal/digest"
)

// PlanHash implements [sim.WithPlanHash]: many choices of a plan lead to the same episode, as weights are choices, too.
// It is false of an episode that has planned more than data.
func (s *simulated) PlanHash(symmetric bool) (uint64, bool) {
	h := planHash{known: true, symmetric: symmetric}
	h.add(reflect.ValueOf(s.of))
	return uint64(h.sum), h.known
}

// ClientPlans implements [sim.WithClientPlans]. It is false also where the first user does something of its own when
// all have finished.
func (s *simulated) ClientPlans() ([]uint64, bool) {
	if _, known := s.PlanHash(true); !known {
		return nil, false
	}
	e := reflect.Indirect(reflect.ValueOf(s.of))
	if _, apart := s.of.(ending); apart || e.Kind() != reflect.Struct {
		return nil, false
	}
	layout, turns := e.FieldByName("layout"), e.FieldByName("turns")
	if !layout.IsValid() || !turns.IsValid() {
		return nil, false
	}
	return clientPlans(layout, turns)
}

// ending is an episode whose first user does something of its own when all have finished.
type ending interface{ firstUserEnds() }

func (*counterEpisode) firstUserEnds() {}
func (*queueEpisode) firstUserEnds()   {}
func (*lockingEpisode) firstUserEnds() {}
func (*transactions) firstUserEnds()   {}

// planHash hashes an episode before it has begun.
type planHash struct {
	sum       digest.Sum
	known     bool
	symmetric bool // scripts are the same if they are but for the order of the clients
}

// constant are the fields that are the same in all episodes of a workload.
var constant = map[string]bool{"terms": true, "new": true}

func (h *planHash) add(v reflect.Value) {
	h.sum.Int(int64(v.Kind()))
	switch v.Kind() {
	case reflect.Invalid:
	case reflect.Bool:
		h.sum.Bool(v.Bool())
	case reflect.String:
		h.sum.Text(v.String())
	case reflect.Pointer, reflect.Interface:
		h.add(v.Elem())
	case reflect.Slice, reflect.Array:
		h.addList(v)
	case reflect.Struct:
		h.addStruct(v)
	default:
		h.addScalar(v)
	}
}

func (h *planHash) addList(v reflect.Value) {
	h.sum.Int(int64(v.Len()))
	for i := range v.Len() {
		h.add(v.Index(i))
	}
}

func (h *planHash) addStruct(v reflect.Value) {
	layout, turns := v.FieldByName("layout"), v.FieldByName("turns")
	apart := h.symmetric && layout.IsValid() && turns.IsValid()
	if apart {
		h.addClients(layout, turns)
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !constant[name] && !(apart && (name == "layout" || name == "turns")) {
			h.add(v.Field(i))
		}
	}
}

// addClients adds what each client's users do, whichever client it is.
func (h *planHash) addClients(layout, turns reflect.Value) {
	plans, known := clientPlans(layout, turns)
	h.known = h.known && known
	var sum uint64
	for _, plan := range plans {
		sum += plan
	}
	h.sum.Ints(int64(sum), int64(layout.Len()))
}

// clientPlans hashes what each client's users do. It is false if that is more than data.
func clientPlans(layout, turns reflect.Value) (plans []uint64, known bool) {
	known = true
	slot := 0
	for client := range layout.Len() {
		one := planHash{known: true}
		users := int(layout.Index(client).Int())
		one.add(turns.Slice(slot, slot+users))
		slot += users
		plans, known = append(plans, uint64(one.sum)), known && one.known
	}
	return plans, known
}

// addScalar adds a number, or finds that a value cannot be hashed unless it is nil.
func (h *planHash) addScalar(v reflect.Value) {
	switch {
	case v.CanInt():
		h.sum.Int(v.Int())
	case v.CanUint():
		h.sum.Int(int64(v.Uint()))
	case v.Kind() == reflect.Func || v.Kind() == reflect.Map || v.Kind() == reflect.Chan:
		h.known = h.known && v.IsNil()
	default:
		h.known = false
	}
}
