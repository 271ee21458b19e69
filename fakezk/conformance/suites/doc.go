// Package suites holds torture's servers to the real ones by programs that use them, which neither side can tell from
// any other client: Curator's recipes, the command line clients of Java and C, and the test suites of go-zookeeper and
// kazoo.
//
// What a program prints on a real server is recorded in testdata; on torture's servers it must print the same. Those
// are what is used by default, and parts of the two test suites. With ZKTORTURE_SUITES=all (`make suites`) all of it is
// run whole, the programs on real servers, too; with -update testdata is recorded anew:
//
//	ZKTORTURE_SUITES=all go test ./fakezk/conformance/suites -update
package suites
