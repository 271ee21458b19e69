package linearizability

// Searched is the model without its own judge: porcupine alone decides.
func Searched(m Model) Model {
	m.fast = nil
	return m
}
