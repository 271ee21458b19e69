module github.com/zktorture/zktorture/results

go 1.26.0

require github.com/zktorture/zktorture v0.0.0

require github.com/anishathalye/porcupine v1.3.1 // indirect
