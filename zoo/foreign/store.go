package foreign

import "reflect"

// connected gives a store its connection. The stores here keep it in a private field, in which their constructors put
// one that they have dialled. On real servers it has to be known which session a store has, so the stores are made like
// this there. A test compares them with what the constructors make.
func connected(store any, field string, conn any) {
	f := reflect.ValueOf(store).Elem().FieldByName(field)
	reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(conn))
}
