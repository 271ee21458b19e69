// The programs in this folder are no Go, and for tests of the repository only. As a module of their own they are not among
// the files that users of the root module get.
module github.com/zktorture/zktorture/fakezk/conformance/suites/curator

go 1.26.0
